"""How long the rows of a table cannot be written after a fault of one node: it
is killed (kill -9) and stays dead, it is cut off the network, or it stands
still (SIGSTOP) for 20 s.

    outage.py [--nodes N] [--rounds N] [--fault kill|cut|pause]… [--tablets N]

Each node is a host of its own (network namespaces) with all roles; there is one
writer for each tablet. Each round of a fault is done to every node in turn. The
outage of a round is the longest time that any writer waited for an answer. Bars:
a median of 3 s, no round above 6 s.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("QUARRY_BUILD", "build/bench"))
os.environ.setdefault("QUARRY", os.path.join(BUILD, "quarry"))
os.environ.setdefault("QUARRY_LINKS", os.path.join(BUILD, "tests/quarry-links"))
sys.argv[1:1] = [os.environ["QUARRY"]]
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
from processes import ClusterTest  # noqa: E402
from cell import row, say  # noqa: E402
from recovery import keys  # noqa: E402

TABLE = "t"
PAUSE_SECONDS = 20
WATCH_SECONDS = {"kill": 25, "cut": 25, "pause": PAUSE_SECONDS + 12}
ROWS = os.path.join(BUILD, "tests/bench/bench_rows")


class Outage(ClusterTest):
    def runTest(self):
        pass

    shows_logs = False

    def has_failed(self):
        return False

    def writers(self, c, some, seconds):
        servers = ",".join(c.address(n) for n in c.names)
        key = os.path.join(self.dir, c.data, "key")
        return subprocess.Popen([ROWS, "outage", servers, key, TABLE,
                                 str(seconds), *some], stdout=subprocess.PIPE,
                                text=True)

    def await_ready(self, c):
        """All nodes serve, and nothing is being repaired."""
        def ready():
            rows = [r for r in c.whole_status() if r["node"] != "all"]
            master = [r for r in rows if r["role"] == "master" and
                      "master=yes" in r["detail"]]
            return len(master) == 1 and all(
                word in master[0]["detail"] for word in (
                    "ready=yes", "unassigned=0", "recovering=0",
                    " servers=%d" % len(c.names))) and \
                {r["node"] for r in rows if r["state"] == "up"} == set(c.names)
        self.wait_for(ready)
        self.wait_for(lambda: c.files().get("under-replicated", "0") == "0")

    @staticmethod
    def show_logs(c, since):
        lines = ["%s %s" % (line, n) for n in c.names
                 for line in c.log(n).splitlines() if line[:19] >= since]
        say("\n".join(sorted(lines)))

    def suffer(self, c, node, fault, some):
        self.await_ready(c)
        roles = [r for r in ("lock", "namenode") if node in c.leaders(r)]
        watch = self.writers(c, some, WATCH_SECONDS[fault])
        time.sleep(3 + random.random() * 2)
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        {"kill": c.kill, "cut": c.isolate, "pause": c.pause}[fault](node)
        if fault == "pause":
            time.sleep(PAUSE_SECONDS)
            c.resume(node)
        out = watch.communicate()[0].split()
        if self.shows_logs:
            self.show_logs(c, at)
        waits = sorted(map(float, out[::2]))
        if fault == "kill":
            c.start(node)
        c.heal()
        say("%s %s (%s): median row %.2f s, worst %.2f s" % (
            fault, node, ", ".join(roles) or "no leader",
            waits[len(waits) // 2], waits[-1]))
        return waits[-1]


def main(o):
    test = Outage()
    test.shows_logs = o.logs
    test.setUp()
    say("in %s" % test.dir)
    try:
        c = test.network(o.nodes, options=o.options.replace("\\n", "\n"))
        cuts, some = keys(o.tablets)
        test.env["QUARRY_TARGET"] = "cluster:" + os.path.join(test.dir, c.data)
        test.wait_for(lambda: test.run_quarry(
            "table", "create", TABLE, "--family", "f").returncode == 0)
        test.ok("table", "split", TABLE, *cuts)
        for fault in o.fault or ["kill", "cut", "pause"]:
            found = [test.suffer(c, node, fault, some)
                     for _ in range(o.rounds) for node in c.names]
            row("outage: %s, median" % fault, statistics.median(found), 3, "s")
            row("outage: %s, worst" % fault, max(found), 6, "s")
    finally:
        test.doCleanups()


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--nodes", type=int, default=5)
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--tablets", type=int, default=16)
    p.add_argument("--fault", action="append",
                   choices=["kill", "cut", "pause"])
    p.add_argument("--logs", action="store_true",
                   help="what the nodes logged meanwhile")
    p.add_argument("--options", default="", help="lines of every node's "
                   "configuration")
    main(p.parse_args())

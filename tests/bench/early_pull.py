"""Three hosts in network namespaces whose links carry no more than a network
does: how much sooner does a job end whose workers pull what maps leave while
these run?

    early_pull.py [--mbit N] [--lines N] [--runs N]

Each map waits half a second, as one that computes, and sends its lines on; each
reduce counts its own. Two slots a host, 125 bytes of chance a line.
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import time

BUILD = os.environ.get("QUARRY_BUILD", "build/bench")
words = sys.argv[1:]
sys.argv[1:] = [os.path.join(BUILD, "quarry")]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cluster"))
from cell import row, say  # noqa: E402
from processes import ClusterTest, network_missing  # noqa: E402

PHASE = re.compile(r"^reduce +(\S+)", re.MULTILINE)


class Job(ClusterTest):
    def runTest(self):
        """Not a test: it lends its clusters."""

    def limit(self, c, mbit):
        rate = ["root", "tbf", "rate", "%dmbit" % mbit, "burst", "256kb",
                "latency", "200ms"]
        for name in c.names:
            for where in (["ip", "netns", "exec", c.ns(name), "tc", "qdisc",
                           "add", "dev", "eth0"],
                          ["tc", "qdisc", "add", "dev", c.link(name)]):
                subprocess.run(where + rate, check=True)

    def settle(self, setting):
        """Three hosts whose workers have this setting."""
        c = self.network(3)
        for name in c.names:
            with open(os.path.join(c.dir(name), "server.conf"), "a") as f:
                f.write("\n[worker]\nslots = 2\nno-short-circuit = true\n" +
                        setting)
            c.stop(name)
            c.start(name, wait=False)
        self.env["QUARRY_TARGET"] = ",".join(c.address(n) for n in c.names)
        self.env["QUARRY_KEY"] = os.path.join(self.dir, c.data, "key")
        self.wait_for(lambda: self.run_quarry(
            "job", "workers", "--format", "json").stdout.count(b'"up"') >= 3)
        return c

    def times(self, setting, o):
        """Seconds of the runs, and of their reduces."""
        whole, reduces = [], []
        c = self.settle(setting)
        rand = random.Random(1)
        with open(self.path("in.txt"), "w") as f:
            for _ in range(o.lines):
                f.write("%0124x\n" % rand.getrandbits(496))
        self.ok("fs", "put", "in.txt", "/in.txt")
        self.limit(c, o.mbit)
        for i in range(o.runs):
            begun = time.monotonic()
            self.ok("job", "run", "--mapper", "sleep 0.5; cat", "--reducer",
                    "wc -l", "--input", "file:/in.txt", "--output",
                    "file:/out%d" % i, "--split", str(o.lines * 125 // 19),
                    "--reducers", "6", "--quiet")
            whole.append(time.monotonic() - begun)
            said = self.ok("job", "status", "last")
            reduces.append(float(PHASE.search(said).group(1)))
            say("".join(line for line in said.splitlines(True)
                        if line.startswith("fetched")).strip())
        return statistics.median(whole), statistics.median(reduces)


def run(setting, o):
    job = Job()
    job.setUp()
    try:
        return job.times(setting, o)
    finally:
        job.doCleanups()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--mbit", type=int, default=100)
    p.add_argument("--lines", type=int, default=480000)
    p.add_argument("--runs", type=int, default=5)
    o = p.parse_args(words)
    if network_missing():
        say("early_pull: SKIPPED: " + network_missing())
        return
    late = run("early = 0\n", o)
    early = run("", o)
    row("a job, pulled early beside later", early[0], late[0], "s")
    row("its reduces, pulled early beside later", early[1], late[1], "s")


if __name__ == "__main__":
    main()

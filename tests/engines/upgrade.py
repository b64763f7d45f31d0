"""A cluster of the last release is rolled to this program node by node, under
load; gone back from; raised; and refused to the last version by name.

    python3 tests/engines/upgrade.py QUARRY LAST_RELEASES_QUARRY

QUARRY_STORM names quarry-storm, whose clients' histories are judged.
"""

import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
LAST = os.path.abspath(sys.argv.pop(2))

from processes import QUARRY, ClusterTest, Loopback, main  # noqa: E402
from tablets_storm import CLIENT_PROCESSES, TablesStorm  # noqa: E402

NODES = ("n1", "n2", "n3")
ROWS = ("d", "m", "t")
# Without writes to any row, for each node that is stopped and started.
SILENT_S = float(os.environ.get("QUARRY_UPGRADE_SILENT", "2"))


class Counter(threading.Thread):
    """Adds one to a row without end, and remembers when it was told so."""

    def __init__(self, test, row):
        super().__init__()
        self.row, self.over = row, False
        self.acks, self.values, self.failed = [time.monotonic()], [], []
        self.process = subprocess.Popen(
            [test.quarry, "shell", *test.t], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            bufsize=1, cwd=test.dir, env=test.env)

    def run(self):
        while not self.over:
            self.process.stdin.write("incr counters %s c:n\n" % self.row)
            line = self.process.stdout.readline().strip()
            if line.isdigit():
                self.acks.append(time.monotonic())
                self.values.append(int(line))
            elif line:
                self.failed.append(line)
            elif self.process.poll() is not None:
                return
            time.sleep(0.02)
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def longest(self, since, until):
        at = [since] + [t for t in self.acks if since < t < until] + [until]
        return max(b - a for a, b in zip(at, at[1:]))


class UpgradeTest(ClusterTest):
    def by(self, program, *words):
        return subprocess.run([program, *words], cwd=self.dir, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)

    def program(self, name):
        return os.readlink("/proc/%d/exe" % self.c.pid(name))

    def roll(self, name, program):
        """The seconds without an answered write, of the slowest row."""
        began = time.monotonic()
        done = self.by(program, "cluster", "restart", name, "--data",
                       self.c.data)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.c.await_answers(NODES)
        self.await_served()
        time.sleep(1)
        silent = max(c.longest(began, time.monotonic()) for c in self.counters)
        print("  %s to %s: %.2f s without writes" % (
            name, "the last release" if program == LAST else "this program",
            silent), flush=True)
        self.assertEqual(self.program(name), program)
        self.silences.append(silent)

    def await_served(self):
        """All tablets have servers again, so that the next can go."""
        def served():
            rows = [self.c.pairs(r) for r in self.c.status()
                    if r["role"] == "master"]
            return any(r.get("ready") == "yes" and r.get("unassigned") == "0"
                       and r.get("servers") == "3" for r in rows)
        self.wait_for(served)

    def setUp(self):
        super().setUp()
        self.quarry = QUARRY
        self.silences = []

    def test_roll(self):
        self.c = Loopback(self, 3)
        self.addCleanup(self.c.end)
        self.c.make_nodes(None, "")
        done = self.by(LAST, "cluster", "start", "--data", self.c.data)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.t = ["-t", "cluster:" + os.path.join(self.dir, self.c.data)]
        self.await_served()
        self.ok("table", "create", "counters", "--family", "c", *self.t)
        self.ok("table", "split", "counters", *ROWS[1:], *self.t)
        storm = TablesStorm(self, self.c, 7)
        storm.clients = [storm.start_client()
                         for _ in range(CLIENT_PROCESSES)]
        self.counters = [Counter(self, r) for r in ROWS]
        for c in self.counters:
            c.start()
        try:
            self.roll_all(storm)
        finally:
            for c in self.counters:
                c.over = True
            for c in self.counters:
                c.join()
            storm.end_clients()
        storm.judge()
        for c in self.counters:
            self.assertEqual(c.values, sorted(set(c.values)))
            # No acknowledged addition is lost.
            last = int(self.ok("incr", "counters", c.row, "c:n", "0", *self.t))
            self.assertGreaterEqual(last, c.values[-1])
        print("  %d additions were acknowledged" % sum(
            len(c.values) for c in self.counters), flush=True)
        self.assertLess(max(self.silences), SILENT_S, self.silences)

    def roll_all(self, storm):
        time.sleep(2)
        for name in NODES:
            self.roll(name, self.quarry)
        # Nothing was raised: back to the last release, and forth again.
        for name in NODES:
            self.roll(name, LAST)
        for name in NODES:
            self.roll(name, self.quarry)
        status = self.by(self.quarry, "cluster", "upgrade", *self.t)
        self.assertEqual(status.returncode, 0, status.stdout)
        print("  " + status.stdout.strip().splitlines()[-1], flush=True)
        # One that speaks no more than the version before refuses by name.
        conf = os.path.join(self.c.dir("n2"), "server.conf")
        self.wait_for(lambda: os.path.exists(
            os.path.join(self.c.dir("n2"), "cluster-version")))
        with open(conf) as f:
            text = f.read()
        with open(conf, "w") as f:
            f.write(text.replace("[server]", "[server]\n"
                                 "cluster-version-max = 1", 1))
        refused = self.by(self.quarry, "cluster", "restart", "n2", "--data",
                          self.c.data)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("the cluster is at version", refused.stdout)
        print("  refused: " + refused.stdout.strip().splitlines()[0],
              flush=True)
        with open(conf, "w") as f:
            f.write(text)
        self.assertEqual(self.by(self.quarry, "cluster", "start", "--data",
                                 self.c.data).returncode, 0)
        self.c.await_answers(NODES)


if __name__ == "__main__":
    main()

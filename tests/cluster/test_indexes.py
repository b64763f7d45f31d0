"""Indexes on a cluster of real processes: whatever is killed, servers and
writers, each look-up gives the rows that a scan finds, and no two have a unique
value."""

import json
import os
import random
import subprocess
import threading
import time

from processes import QUARRY, ClusterTest, main

TARGET = "cluster:quarry-cluster"
WRITERS = 3
SECONDS = 15
ROWS = 8
VALUES = 6


class Writer(threading.Thread):
    """Gives random rows random values, by processes, some of which are killed
    on their way."""

    def __init__(self, test, number):
        super().__init__()
        self.test = test
        self.rand = random.Random(number)
        self.ending = False
        self.made = 0
        self.taken = 0
        self.wrong = []

    def write(self):
        row = "r%d" % self.rand.randrange(ROWS)
        if self.rand.random() < 0.15:
            return ["delete", "t", row]
        return ["put", "t", row,
                "f:a=v%d" % self.rand.randrange(VALUES),
                "f:u=v%d" % self.rand.randrange(VALUES)]

    def run(self):
        while not self.ending:
            client = subprocess.Popen(
                [QUARRY] + self.write(), cwd=self.test.dir,
                env=dict(self.test.env, QUARRY_TIMEOUT="60s"),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)
            if self.rand.random() < 0.2:
                time.sleep(self.rand.random() * 0.3)
                client.kill()
            said = client.communicate()[1].decode()
            if client.returncode == 0:
                self.made += 1
            elif "has the same value" in said:
                self.taken += 1
            elif client.returncode > 0:
                self.wrong.append(said)


class IndexesTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def serve(self, count):
        """A cluster whose master is ready."""
        cluster = self.loopback(count)
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in cluster.status()))
        return cluster

    def quarry(self, *words):
        done = subprocess.run([QUARRY] + list(words), cwd=self.dir,
                              env=dict(self.env, QUARRY_TIMEOUT="120s"),
                              stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def keys(self, *words):
        lines = self.quarry(*words, "--keys-only", "--format", "json")
        return sorted(json.loads(line)["row"] for line in lines.splitlines())

    def look(self, column, index):
        """Each value's rows, by the index and by a scan of all rows."""
        for n in range(VALUES):
            value = "v%d" % n
            found = self.keys("index", "lookup", "t", index, value)
            self.assertEqual(
                found, self.keys("scan", "t", "--start", "r", "--where",
                                 "f:%s = %s" % (column, value)))
            if column == "u":
                self.assertLessEqual(len(found), 1)

    def test_kills(self):
        """Servers and writers are killed, and an index is built meanwhile."""
        cluster = self.serve(3)
        rand = random.Random(7)
        self.quarry("table", "create", "t", "--family", "f")
        self.quarry("index", "create", "t", "BY", "f:u", "UNIQUE",
                    "--name", "u")
        writers = [Writer(self, n) for n in range(WRITERS)]
        for w in writers:
            w.start()
        try:
            self.quarry("index", "create", "t", "BY", "f:a", "--name", "a")
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                time.sleep(1 + rand.random())
                n = "n%d" % rand.randrange(1, 4)
                cluster.kill(n)
                time.sleep(rand.random())
                cluster.start(n)
        finally:
            for w in writers:
                w.ending = True
            for w in writers:
                w.join()
        for w in writers:
            self.assertEqual(w.wrong, [])
        self.assertGreater(sum(w.made for w in writers), 10)
        print("%d writes made, %d of taken values" % (
            sum(w.made for w in writers), sum(w.taken for w in writers)),
            flush=True)
        self.look("a", "a")
        self.look("u", "u")
        for index in ("a", "u"):
            self.quarry("index", "check", "t", index, "--mend")
            said = self.quarry("index", "check", "t", index, "--format",
                               "json")
            report = json.loads(said)
            if isinstance(report, list):
                report = report[0]
            self.assertEqual(report["missing"], 0)
            self.assertEqual(report["stale"], 0)
            self.assertEqual(report["rows"], report["entries"])


if __name__ == "__main__":
    main()

"""Tablets on many machines: made, written, split and moved while nodes are
killed, and nothing that was acknowledged is lost."""

import os
import random
import subprocess
import threading
import time

from processes import QUARRY, ClusterTest, main

TARGET = "cluster:quarry-cluster"
# The dead are known soon: in 3 s instead of 12. Options of tablet servers go
# first.
HASTY = "[tablet]\nlease = 3s\n%s[master]\nlease = 3s\n" \
    "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n"
# How long nodes are killed, one after the other.
STORM_SECONDS = int(os.environ.get("QUARRY_STORM_SECONDS", "30"))


class Writer(threading.Thread):
    """Writes rows of its own, and remembers which were acknowledged."""

    def __init__(self, test, number):
        super().__init__()
        self.test = test
        self.number = number
        self.acknowledged = {}
        self.failed = 0
        self.ending = False

    def run(self):
        count = 0
        while not self.ending:
            row = "%03d-%05d" % ((count * 37 + self.number) % 1000, count)
            value = "w%d.%d" % (self.number, count)
            column = "f:w%d=%s" % (self.number, value)
            done = subprocess.run(
                [QUARRY, "put", "t", row, column], cwd=self.test.dir,
                env=dict(self.test.env, QUARRY_TIMEOUT="60s"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                check=False)
            if done.returncode == 0:
                self.acknowledged[row, "w%d" % self.number] = value
            else:
                self.failed += 1
            count += 1


class TabletsTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def master(self, c):
        """The status of the active master: {key: value}, or {}."""
        for name in c.names:
            said = c.roles(name).get("master", {})
            if said.get("master") == "yes":
                return dict(said, node=name)
        return {}

    def await_served(self, c, servers=3):
        """Until a master knows all servers and all tablets are served."""
        def served():
            said = self.master(c)
            return (said.get("ready") == "yes" and
                    said.get("unassigned") == "0" and
                    said.get("recovering") == "0" and
                    int(said.get("servers", 0)) >= servers)
        self.wait_for(served)

    def cells(self, table):
        """{(row, qualifier): value} of the newest cells."""
        found = {}
        for row in self.json("scan", table, "--versions", "1"):
            for cell in row["cells"]:
                found[row["row"], cell["qualifier"]] = cell["value"]
        return found

    def check(self, table, expected):
        found = self.cells(table)
        lost = {k: v for k, v in expected.items() if found.get(k) != v}
        self.assertEqual(lost, {})

    def fill(self, table, rows):
        text = "row,v\n" + "".join("%s,%s\n" % (r, r) for r in rows)
        self.write("rows.csv", text)
        self.ok("import", "csv", "rows.csv", "--key", "row", "--family", "f",
                "--into", table)


class LifeTest(TabletsTest):
    def test_tables(self):
        """A fresh cluster serves tables within seconds: made, written, split,
        altered, emptied of rows and dropped."""
        c = self.loopback(3)
        self.await_served(c)
        self.table("t", "f")
        self.ok("put", "t", "a", "f:x=1")
        self.fails(1, "put", "t", "a", "g:x=1")
        self.ok("table", "alter", "t", "--add-family", "g")
        self.ok("put", "t", "a", "g:x=1")
        self.fill("t", ["%03d" % i for i in range(500)])
        for row in ("100", "200", "300"):
            self.ok("table", "split", "t", row)
        self.await_served(c)
        self.assertGreaterEqual(int(self.master(c)["tablets"]), 6)
        self.assertEqual(len(self.json("scan", "t", "--keys-only")), 501)
        self.ok("table", "compact", "t")
        self.assertEqual(len(self.json("scan", "t", "--keys-only")), 501)
        self.ok("table", "drop", "t")
        self.fails(1, "put", "t", "a", "f:x=1")
        self.assertEqual(self.json("table", "list"), [])

    def test_all_killed(self):
        """When all die at once, the tables are back with all of them."""
        c = self.loopback(3)
        self.await_served(c)
        self.table("t", "f")
        rows = ["%03d" % i for i in range(300)]
        self.fill("t", rows)
        for name in c.names:
            c.kill(name)
        self.ok("cluster", "start")
        self.await_served(c)
        self.check("t", {(r, "v"): r for r in rows})


class StormTest(TabletsTest):
    def storm(self, c, chance):
        """Kill nodes, the master's and a tablet's alike, and split tablets,
        with some peace in between."""
        end = time.monotonic() + STORM_SECONDS
        while time.monotonic() < end:
            self.run_quarry("table", "split", "t",
                            "%03d" % chance.randrange(1000))
            victim = chance.choice(c.names)
            c.kill(victim)
            time.sleep(chance.uniform(0.5, 6))
            c.start(victim)
            time.sleep(chance.uniform(2, 6))

    def test_killed_under_load(self):
        """Nodes are killed one after the other while clients write and tablets
        are split: whatever was acknowledged is there at the end."""
        c = self.loopback(3, settings=HASTY % "")
        self.await_served(c)
        self.table("t", "f")
        writers = [Writer(self, i) for i in range(3)]
        for w in writers:
            w.start()
        try:
            self.storm(c, random.Random(5))
        finally:
            for w in writers:
                w.ending = True
            for w in writers:
                w.join()
        self.await_served(c)
        expected = {}
        for w in writers:
            expected.update(w.acknowledged)
        print("acknowledged %d, failed %d" % (
            len(expected), sum(w.failed for w in writers)), flush=True)
        self.assertGreater(len(expected), 10)
        self.check("t", expected)


if __name__ == "__main__":
    main()

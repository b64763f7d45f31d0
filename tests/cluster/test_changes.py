"""Changes of a cluster's tables: a reader that continues at its tokens is told
every acknowledged write once and whole, in the order of its row, while tablets
are split and moved and nodes are killed; and no family that it may not read."""

import json
import os
import random
import subprocess
import threading
import time

from processes import QUARRY, ClusterTest, main

TARGET = "cluster:quarry-cluster"
HASTY = "[tablet]\nlease = 3s\n[master]\nlease = 3s\n" \
    "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n"
STORM_SECONDS = int(os.environ.get("QUARRY_STORM_SECONDS", "20"))
ROWS = 40


class Reader:
    """Follows a table by runs of `quarry changes`, and counts what is behind a
    token alone: the rest is read again."""

    def __init__(self, test):
        self.test = test
        self.token = None
        self.told = []  # (row, sequence, {(family, qualifier): value})
        self.watermark = 0

    def read(self):
        place = ["--from", self.token] if self.token else []
        said = subprocess.run(
            [QUARRY, "changes", "t", "--tokens", *place], cwd=self.test.dir,
            env=dict(self.test.env, QUARRY_TIMEOUT="60s"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False)
        waiting = []
        for line in said.stdout.decode().splitlines():
            change = json.loads(line)
            if "token" in change:
                self.token = change["token"]
                self.watermark = max(self.watermark, change["watermark"])
                self.told += waiting
                waiting = []
            else:
                waiting.append((change["row"], change["sequence"], {
                    (e["family"], e["qualifier"]): e["value"]
                    for e in change["entries"] if e["op"] == "set"}))
        return said


class Writer(threading.Thread):
    """Writes both families of rows that others write too."""

    def __init__(self, test, number):
        super().__init__()
        self.test = test
        self.number = number
        self.acknowledged = []
        self.ending = False

    def run(self):
        count = 0
        while not self.ending:
            row = "%02d" % ((count * 7 + self.number) % ROWS)
            value = "w%d.%d" % (self.number, count)
            done = subprocess.run(
                [QUARRY, "put", "t", row, "f:v=" + value, "g:v=" + value],
                cwd=self.test.dir,
                env=dict(self.test.env, QUARRY_TIMEOUT="60s"),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 0:
                self.acknowledged.append((row, value))
            count += 1


class ChangesTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def await_served(self, c, servers=3):
        def served():
            for name in c.names:
                said = c.roles(name).get("master", {})
                if said.get("master") == "yes":
                    return (said.get("ready") == "yes" and
                            said.get("unassigned") == "0" and
                            said.get("recovering") == "0" and
                            int(said.get("servers", 0)) >= servers)
            return False
        self.wait_for(served)

    def create(self):
        self.ok("table", "create", "t", "--family", "f", "--family",
                "g,group=other", "--group", "other", "--changes", "1d")

    def check(self, reader, acknowledged):
        """Each once, whole, and in the order of its row."""
        values = [v[("f", "v")] for _, _, v in reader.told]
        self.assertEqual(len(values), len(set(values)), "told twice")
        for row, _, entries in reader.told:
            self.assertEqual(entries.get(("f", "v")), entries.get(("g", "v")),
                             "row %s: half a commit" % row)
        missed = set(v for _, v in acknowledged) - set(values)
        self.assertEqual(missed, set())
        place = {}
        for i, (row, _, entries) in enumerate(reader.told):
            place[row, entries[("f", "v")]] = i
        last = {}
        for row, value in acknowledged:  # Each writer's in its order.
            key = row, value.split(".")[0]
            self.assertLess(last.get(key, -1), place[row, value])
            last[key] = place[row, value]

    def test_life(self):
        """Told after flushes, compactions, splits and moves; kept and ended."""
        c = self.loopback(3)
        self.await_served(c)
        self.create()
        self.assertIn("1d", self.ok("table", "describe", "t"))
        reader = Reader(self)
        written = []

        def write(count):
            for i in range(count):
                row = "%02d" % (i * 7 % ROWS)
                value = "w0.%d" % len(written)
                self.ok("put", "t", row, "f:v=" + value, "g:v=" + value)
                written.append((row, value))

        write(10)
        self.assertEqual(reader.read().returncode, 0)
        self.check(reader, written)
        self.ok("table", "compact", "t")
        write(10)
        self.ok("table", "split", "t", "20")
        self.await_served(c)
        write(10)
        self.ok("table", "compact", "t")
        for name in c.names:
            self.run_quarry("table", "move", "t", "20", name)
        self.await_served(c)
        write(10)
        before = time.time()
        self.assertEqual(reader.read().returncode, 0)
        self.check(reader, written)
        self.assertEqual(len(reader.told), len(written))
        self.wait_for(lambda: reader.read().returncode == 0 and
                      reader.watermark > before * 1e6)
        fresh = Reader(self)
        fresh.read()
        self.check(fresh, written)
        self.ok("table", "alter", "t", "--changes", "off")
        self.assertIn("keeps no changes",
                      reader.read().stderr.decode())
        self.ok("table", "alter", "t", "--changes", "1d")
        reader = Reader(self)
        self.wait_for(lambda: reader.read().returncode == 0)
        self.ok("put", "t", "00", "f:v=last", "g:v=last")
        reader.read()
        self.assertEqual([v[("f", "v")] for _, _, v in reader.told], ["last"])

    def test_time_travel(self):
        """A table is read as of each moment, and brought back to one, after
        compactions, splits, moves, a drop of rows and a server's death."""
        c = self.loopback(3)
        self.await_served(c)
        self.create()
        moments = []

        def rows(*words):
            return [(r["row"], [x["value"] for x in r["cells"]])
                    for r in map(json.loads, self.ok(
                        "scan", "t", "--format", "json", *words).splitlines())]

        def keep():
            time.sleep(0.05)
            us = str(time.time_ns() // 1000)
            moments.append((us, rows()))
            time.sleep(0.05)

        def check():
            for us, then in moments:
                self.assertEqual(rows("--as-of", us), then)

        for i in range(6):
            self.ok("put", "t", "%02d" % (i * 7), "f:v=%d" % i, "g:v=%d" % i)
        keep()
        self.ok("put", "t", "00", "f:v=again", "--time", "1000")
        self.ok("delete", "t", "07")
        self.ok("table", "compact", "t")
        keep()
        self.ok("table", "split", "t", "20")
        self.await_served(c)
        self.ok("put", "t", "21", "f:v=other")
        keep()
        self.ok("table", "compact", "t")
        self.ok("delete", "t", "--prefix", "2")
        keep()
        check()
        for name in c.names:
            self.run_quarry("table", "move", "t", "20", name)
        self.await_served(c)
        check()
        c.kill(c.names[2])
        self.await_served(c, 2)
        check()
        self.ok("table", "restore", "t", "--to", moments[1][0])
        self.assertEqual(rows(), moments[1][1])
        keep()
        self.ok("table", "compact", "t")
        check()

    def test_rights(self):
        """A reader sees changes of the families that it may read, and no others;
        one that may read none is refused."""
        c = self.loopback(1)
        self.await_served(c, 1)
        self.create()
        self.ok("put", "t", "r1", "f:v=open", "g:v=secret")
        self.ok("put", "t", "r2", "g:v=secret")
        self.ok("delete", "t", "r1", "g:v")
        self.ok("acl", "grant", "t", "own", self.env.get("USER", "root"))
        self.ok("acl", "grant", "t", "read", "ann", "--family", "f")
        whole = self.ok("changes", "t")
        self.assertIn("secret", whole)
        self.env["USER"] = "ann"
        told = self.ok("changes", "t")
        self.assertIn("open", told)
        for hidden in ("secret", '"g"', "r2"):
            self.assertNotIn(hidden, told)
        self.env["USER"] = "bob"
        self.assertIn('"bob" may not read', self.fails(1, "changes", "t"))

    def test_killed_under_load(self):
        """Nodes are killed and tablets split while a reader follows."""
        c = self.loopback(3, settings=HASTY)
        self.await_served(c)
        self.create()
        reader = Reader(self)
        writers = [Writer(self, i) for i in range(2)]
        chance = random.Random(7)
        for w in writers:
            w.start()
        try:
            end = time.monotonic() + STORM_SECONDS
            while time.monotonic() < end:
                self.run_quarry("table", "split", "t",
                                "%02d" % chance.randrange(1, ROWS))
                victim = chance.choice(c.names)
                c.kill(victim)
                reader.read()
                time.sleep(chance.uniform(0.5, 3))
                c.start(victim)
                reader.read()
                if chance.randrange(2):
                    self.run_quarry("table", "compact", "t")
        finally:
            for w in writers:
                w.ending = True
            for w in writers:
                w.join()
        self.await_served(c)
        self.wait_for(lambda: reader.read().returncode == 0)
        reader.read()
        acknowledged = [a for w in writers for a in w.acknowledged]
        print("acknowledged %d, told %d" % (len(acknowledged),
                                            len(reader.told)), flush=True)
        self.assertGreater(len(acknowledged), 5)
        self.check(reader, acknowledged)


if __name__ == "__main__":
    main()

"""table create, list, describe, alter, drop, split, compact, stats; dump and
check of the files below them."""

import glob
import json
import os

from harness import CliTest, main


class Tables(CliTest):
    def test_create_and_describe(self):
        """describe gives back families and groups as they were asked for."""
        self.ok("table", "create", "web", "--family", "contents,versions=3,"
                "group=page", "--family", "anchor", "--group",
                "page,compression=zstd,level=5,block=128KiB")
        text = self.ok("table", "describe", "web")
        self.assertIn("contents", text)
        self.assertIn("versions=3", text)
        info, = self.json("table", "describe", "web")
        self.assertEqual(info["table"], "web")
        self.assertEqual([f["family"] for f in info["families"]],
                         ["contents", "anchor"])
        self.assertEqual(info["families"][0]["group"], "page")
        page, = [g for g in info["groups"] if g["group"] == "page"]
        self.assertIn("level=5", page["options"])
        self.assertIn("block=128", page["options"])

    def test_list(self):
        """list shows every table, as text and for programs."""
        self.table("b", "x", "y")
        self.table("a")
        self.assertEqual([t["table"] for t in self.json("table", "list")],
                         ["a", "b"])
        text = self.ok("table", "list").splitlines()
        self.assertRegex(text[0], r"^table +tablets +bytes +families$")
        self.assertRegex(text[1], r"^─+  ─+  ─+  ─+$")
        self.assertRegex(text[3], r"^b .* x y$")

    def test_alter(self):
        """Families and groups can be added, changed and dropped."""
        self.table("t", "f", "g")
        self.ok("put", "t", "r", "f:a=1", "g:b=2")
        self.ok("table", "alter", "t", "--add-family", "h,versions=1",
                "--drop-family", "g")
        self.ok("put", "t", "r", "h:c=3")
        row, = self.json("get", "t", "r")
        self.assertEqual([c["family"] for c in row["cells"]], ["f", "h"])
        self.assertIn("no change", self.fails(2, "table", "alter", "t"))

    def test_versions_are_kept(self):
        """versions=N holds at once, before any compaction."""
        self.table("t", "f,versions=2")
        for i in range(4):
            self.ok("put", "t", "r", "f:q=%d" % i)
        row, = self.json("get", "t", "r")
        self.assertEqual([c["value"] for c in row["cells"]], ["3", "2"])

    def test_drop(self):
        """A dropped table is gone, and its name is free again."""
        self.table()
        self.ok("put", "t", "r", "f:q=1")
        self.ok("table", "drop", "t")
        self.fails(1, "scan", "t")
        self.table()
        self.assertEqual(self.json("count", "t"), [{"rows": 0, "cells": 0}])

    def test_split(self):
        """A split makes tablets and loses no row."""
        self.table()
        for row in ("a", "m", "z"):
            self.ok("put", "t", row, "f:q=1")
        self.ok("table", "split", "t", "g", "p")
        tablets = self.json("table", "stats", "t", "--tablets")
        self.assertEqual([(t["start"], t["end"]) for t in tablets],
                         [("", "g"), ("g", "p"), ("p", "")])
        self.assertEqual(self.ok("scan", "t", "--keys-only").split(),
                         ["a", "m", "z"])

    def test_stats(self):
        """stats counts what is stored, by group."""
        self.table()
        self.ok("put", "t", "r", "f:q=" + "x" * 1000)
        self.ok("table", "compact", "t")
        group, = self.json("table", "stats", "t")
        self.assertEqual(group["files"], 1)
        self.assertEqual(group["entries"], 1)
        self.assertGreater(group["bytes"], 0)

    def test_groups_that_hold_nothing(self):
        """A group that no family is in, and nothing ever was, has no row."""
        self.ok("table", "create", "t", "--family", "f,group=g", "--group",
                "g,level=1")
        group, = self.json("table", "stats", "t")
        self.assertEqual(group["group"], "g")
        self.assertNotIn("default", self.ok("table", "describe", "t"))

    def test_undelete(self):
        """A table that was dropped with --keep comes back with its rows, under
        its own name only; one that was dropped without is gone."""
        self.ok("table", "create", "t", "--family", "f")
        for kept in ["one", "two"]:
            self.ok("put", "t", "row", "f:q=" + kept)
            self.ok("table", "drop", "t", "--keep", "1d")
            self.assertNotIn("t", self.ok("table", "list").split())
            self.ok("table", "undelete", "t")
            self.assertIn(kept, self.ok("get", "t", "row", "f:q"))
        self.ok("table", "drop", "t", "--keep", "1d")
        self.ok("table", "create", "t", "--family", "f")
        self.fails(1, "table", "undelete", "t")
        self.ok("table", "drop", "t")
        self.ok("table", "undelete", "t")
        self.ok("table", "drop", "t")
        self.assertIn("--keep", self.fails(1, "table", "undelete", "t"))

    def test_dump_and_check(self):
        """dump reads each kind of file of a store; check finds all of it well.
        """
        self.embedded_only("a cluster has no directory to look into")
        self.table()
        for i in range(50):
            self.ok("put", "t", "row%02d" % i, "f:q=value%d" % i)
        self.ok("table", "compact", "t")
        self.ok("put", "t", "later", "f:q=1")
        sst, = glob.glob(self.path("quarry-data/tables/*.sst"))
        entries = self.json("dump", sst, "--entries")
        self.assertEqual(len(entries), 50)
        self.assertEqual(entries[7]["row"], "row07")
        self.assertEqual(entries[7]["value"], "value7")
        self.assertIn("row49", self.ok("dump", sst))
        self.assertEqual(len(self.json("dump", sst, "--entries", "--limit",
                                       "5")), 5)
        manifest = sorted(glob.glob(self.path("quarry-data/manifest-*")))[-1]
        self.assertEqual([f["table"] for f in self.json("dump", manifest)],
                         ["t"])
        self.ok("table", "snapshot", "t", "kept")
        self.ok("put", "t", "last", "f:q=1")
        manifest = sorted(glob.glob(self.path("quarry-data/manifest-*")))[-1]
        last = self.json("dump", manifest, "--entries")[-1]
        self.assertEqual(last["snapshots"], ["kept"])
        self.assertEqual(len(last["log"]["segments"]), 1)
        self.assertIn("snapshots: kept", self.ok("dump", manifest, "--entries"))
        for segment in glob.glob(self.path("quarry-data/log/*.log")):
            self.ok("dump", segment)
        checked = self.json("check", "quarry-data")
        self.assertEqual({f["state"] for f in checked}, {"ok"})

    def test_check_finds_damage(self):
        """One changed byte in an SSTable is found, named, and exit 1."""
        self.embedded_only("a cluster has no directory to look into")
        self.table()
        for i in range(50):
            self.ok("put", "t", "row%02d" % i, "f:q=" + "value%d" % i * 9)
        self.ok("table", "compact", "t")
        sst, = glob.glob(self.path("quarry-data/tables/*.sst"))
        with open(sst, "r+b") as f:
            f.seek(100)
            byte = f.read(1)
            f.seek(100)
            f.write(bytes([byte[0] ^ 1]))
        message = self.fails(1, "check", "quarry-data")
        self.assertIn("damaged", message)


class Tablets(CliTest):
    def test_tablets(self):
        """Tablets with their ranges, and what each server has."""
        self.table()
        for row in "amz":
            self.ok("put", "t", row, "f:q=v")
        self.ok("table", "split", "t", "m")
        first, second = self.json("table", "tablets", "t")
        self.assertEqual([first["start"], first["end"], second["start"]],
                         ["", "m", "m"])
        self.table("u")
        held = self.json("table", "tablets")
        self.assertEqual(sum(h["tablets"] for h in held), 3)
        if os.environ.get("QUARRY_TEST_TARGET"):
            self.assertIn(":", first["server"])
        self.assertIn("did you mean t?", self.fails(1, "table", "tablets",
                                                    "tt"))

    def test_where(self):
        """A row is where its tablet is: also a row that does not exist, and one on
        the border; without a row, all tablets."""
        self.table()
        for row in "amz":
            self.ok("put", "t", row, "f:q=v")
        self.ok("table", "split", "t", "m")
        for row, number, start in (("a", 1, ""), ("lzz", 1, ""), ("m", 2, "m"),
                                   ("m\\x00", 2, "m"), ("zz", 2, "m")):
            found = self.json("table", "where", "t", row)
            self.assertEqual([(t["tablet"], t["start"]) for t in found],
                             [(number, start)], row)
            for key in ("server", "bytes", "reads_per_s", "writes_per_s"):
                self.assertIn(key, found[0])
        self.assertEqual(len(self.json("table", "where", "t")), 2)
        if os.environ.get("QUARRY_TEST_TARGET"):
            self.assertIn(":", found[0]["server"])
        self.assertIn("m", self.ok("table", "where", "t", "zz"))
        self.assertIn("did you mean t?", self.fails(1, "table", "where", "tt", "a"))
        self.fails(2, "table", "where")

    def test_rates(self):
        """Tablets that are read and written say how much, by the second, and
        can be sorted by it. A directory knows what its process did."""
        self.table()
        self.ok("table", "split", "t", "m")
        lines = ["put t n%d f:q=%s" % (i, "v" * 1000) for i in range(20)]
        lines += ["put t a f:q=v", "scan t", "scan t"]
        asked = ["table tablets t --format json",
                 "table tablets t --format json --sort writes_per_s",
                 "table tablets --format json"]
        out = self.ok("shell", stdin="\n".join(lines + asked) + "\n")
        rows = [json.loads(line) for line in out.splitlines()
                if line.startswith("{")]
        cold, hot, first, second, held = rows
        for r in rows:
            for name in ("reads_per_s", "writes_per_s", "bytes_per_s"):
                self.assertIsInstance(r[name], (int, float))
        # 20 writes to 1, 40 reads to 2, within a minute at the most.
        self.assertGreater(hot["writes_per_s"], 0.2)
        self.assertGreater(hot["writes_per_s"], 5 * cold["writes_per_s"])
        self.assertGreater(hot["reads_per_s"], 5 * cold["reads_per_s"])
        self.assertGreater(cold["reads_per_s"], 0)
        self.assertGreater(hot["bytes_per_s"], 500)
        self.assertEqual([first["start"], second["start"]], ["m", ""])
        self.assertGreaterEqual(held["writes_per_s"], hot["writes_per_s"] / 2)
        self.assertIn("writes_per_s", self.fails(2, "table", "tablets", "t",
                                                 "--sort", "heat"))


if __name__ == "__main__":
    main()

"""Reads as of a time: scan, get, count, export and jobs."""

import os
import time

from harness import CliTest, main


class TimeTravel(CliTest):
    def moment(self):
        """The time, with nothing else in it."""
        time.sleep(0.02)
        us = time.time_ns() // 1000
        time.sleep(0.02)
        return str(us)

    def make_history(self):
        self.ok("table", "create", "t", "--family", "f,versions=1",
                "--changes", "7d")
        empty = self.moment()
        self.ok("put", "t", "a", "f:x=1")
        self.ok("put", "t", "b", "f:x=2")
        first = self.moment()
        self.ok("put", "t", "a", "f:x=3")
        self.ok("delete", "t", "b")
        self.ok("table", "compact", "t")
        second = self.moment()
        self.ok("put", "t", "c", "f:x=4")
        self.ok("delete", "t", "--prefix", "a")
        self.ok("table", "compact", "t")
        return empty, first, second

    def values(self, *words):
        return [(r["row"], [c["value"] for c in r["cells"]])
                for r in self.json("scan", "t", *words)]

    def test_each_moment_is_as_it_was(self):
        """scan, get, count and export show what was there at the time."""
        empty, first, second = self.make_history()
        self.assertEqual(self.values(), [("c", ["4"])])
        self.assertEqual(self.values("--as-of", empty), [])
        self.assertEqual(self.values("--as-of", first),
                         [("a", ["1"]), ("b", ["2"])])
        self.assertEqual(self.values("--as-of", second), [("a", ["3"])])
        row, = self.json("get", "t", "b", "--as-of", first)
        self.assertEqual(row["cells"][0]["value"], "2")
        self.assertIn("2", self.ok("count", "t", "--as-of", first))
        self.assertIn("b", self.ok("export", "t", "--as-of", first))

    def test_a_job_reads_the_past(self):
        """A job's table may be that of a time."""
        _, first, _ = self.make_history()
        self.ok("job", "run", "--mapper", "cat", "-i",
                "table:t?as-of=" + first, "-o", "file:out")
        text = "".join(
            open(os.path.join(self.dir, "out", name), encoding="utf-8").read()
            for name in sorted(os.listdir(os.path.join(self.dir, "out")))
            if not name.startswith("_"))
        self.assertIn("b", text)
        self.assertNotIn("c\t", text)

    def test_a_table_is_brought_back(self):
        """restore makes the table what it was, also by a copy, and what it was
        before that can be had back; aggregates too."""
        empty, first, second = self.make_history()
        self.ok("table", "restore", "t", "--to", first, "--into", "copy")
        before = self.values()
        now = self.moment()
        self.assertIn("2 rows brought back, 1 deleted",
                      self.ok("table", "restore", "t", "--to", first))
        self.assertEqual(self.json("scan", "t"), self.json("scan", "copy"))
        self.assertEqual(self.values(), [("a", ["1"]), ("b", ["2"])])
        self.assertIn("0 rows brought back, 0 deleted",
                      self.ok("table", "restore", "t", "--to", first))
        for moment, rows in ((second, [("a", ["3"])]), (empty, []),
                             (now, before)):
            self.ok("table", "restore", "t", "--to", moment)
            self.assertEqual(self.values(), rows)
        self.table("plain")
        self.assertIn("keeps no changes", self.fails(
            1, "table", "restore", "plain", "--to", first))
        self.fails(2, "table", "restore", "t")

    def test_sums_as_of_a_time(self):
        """An aggregate is the sum of what was added until then, also when
        operands were folded since."""
        self.ok("table", "create", "s", "--family", "f,aggregate=sum",
                "--changes", "7d")
        moments = []
        for i in range(1, 7):
            self.ok("add", "s", "r", "f:n", str(i))
            moments.append((self.moment(), i * (i + 1) // 2))
            if i % 2 == 0:
                self.ok("table", "compact", "s")
        self.ok("delete", "s", "r")
        self.ok("table", "compact", "s")
        for us, total in moments:
            row, = self.json("get", "s", "r", "--as-of", us)
            self.assertEqual(row["cells"][0]["number"], total)
        self.ok("table", "restore", "s", "--to", moments[3][0])
        row, = self.json("get", "s", "r")
        self.assertEqual(row["cells"][0]["number"], 10)

    def test_what_is_not_kept_is_refused(self):
        """Before the earliest time there is an error that names it; a table
        without changes has its old cells alone."""
        self.table()
        self.ok("put", "t", "r", "f:x=old", "--time", "1000")
        self.ok("put", "t", "r", "f:x=new")
        row, = self.json("get", "t", "r", "--as-of", "2020-01-01")
        self.assertEqual([c["value"] for c in row["cells"]], ["old"])
        self.ok("table", "alter", "t", "--changes", "1d")
        said = self.fails(1, "scan", "t", "--as-of", "2020-01-01")
        self.assertIn("not kept any more", said)
        self.assertIn("the earliest is", said)
        self.assertIn("has come", self.fails(1, "scan", "t", "--as-of",
                                             "2999-01-01"))


if __name__ == "__main__":
    main()

"""Parquet out and in again: the same cells; other programs' files, a row a row."""

import os
import random

from harness import main
from test_sql import SqlTest


class Parquet(SqlTest):
    def cells(self, table):
        return sorted(self.ok("export", table, "--format", "tsv").splitlines())

    def fill(self, seed):
        draw = random.Random(seed)
        lines = set()
        for i in range(300):
            row = "".join("\\x%02x" % draw.randrange(256)
                          for _ in range(draw.randrange(1, 6)))
            column = draw.choice(["f:", "f:q", "g:\\xff\\x00", "g:\u00fc"])
            when = draw.choice([0, 5, -7, 1714558830000000])
            lines.add((row, column, when))
        self.write("in.tsv", "".join("%s\t%s\t%d\t%s\n" % (
            *line, draw.choice(["", "v", "\\xff\\x00", "x" * 5000]))
            for line in sorted(lines)))
        self.ok("import", "in.tsv", "--into", "t")

    def test_round_trip(self):
        """Random tables come back as the same cells, through files and pipes."""
        for seed in range(2):
            self.fill(seed)
            want = self.cells("t")
            self.ok("export", "t", "x.parquet", "--with-schema")
            self.ok("import", "x.parquet", "--into", "back")
            self.assertEqual(self.cells("back"), want)
            report, = self.json("import", "x.parquet", "--into", "back")
            self.assertEqual(report["new_rows"], 0)
            self.assertEqual(report["cells"], len(want))
            done = self.run_quarry("export", "t", "--format", "parquet")
            self.ok("import", "-", "--into", "piped", stdin=done.stdout)
            self.assertEqual(self.cells("piped"), want)
            for table in ("t", "back", "piped"):
                self.ok("table", "drop", table)

    def test_parts_of_a_table(self):
        self.write("in.tsv", "a\tf:q\t5\t1\na\tf:q\t6\t2\nb\tg:\t7\t3\n")
        self.ok("import", "in.tsv", "--into", "t")
        for narrow in (["--prefix", "a"], ["--family", "g"],
                       ["--versions", "1"], ["--row", "b"],
                       ["--column", "f:.*"]):
            self.ok("export", "t", "x.parquet", *narrow)
            self.ok("import", "x.parquet", "--into", "back")
            self.assertEqual(self.cells("back"), sorted(self.ok(
                "export", "t", "--format", "tsv", *narrow).splitlines()),
                narrow)
            self.ok("table", "drop", "back")
        self.assertIn("quarry sql has all conditions", self.fails(
            1, "export", "t", "x.parquet", "--value", "1"))

    def test_files_of_others(self):
        """A row is a row, each column a cell; NULL is none."""
        self.ok("sql", "-c", "COPY (SELECT 'k' || i AS k, i AS n, [1, 2] AS l, "
                "CASE WHEN i = 1 THEN 'x' END AS s, TIMESTAMP '2024-01-01' + "
                "INTERVAL (i) DAY AS t FROM range(3) r(i)) TO 'z.parquet'")
        self.ok("import", "z.parquet", "--into", "t", "--family", "d",
                "--time", "t")
        rows = self.json("scan", "t")
        self.assertEqual([r["row"] for r in rows], ["k0", "k1", "k2"])
        self.assertEqual({c["qualifier"]: c["value"] for c in rows[1]["cells"]},
                         {"n": "1", "l": "[1, 2]", "s": "x",
                          "t": "2024-01-02 00:00:00"})
        self.assertEqual(rows[0]["cells"][0]["time"][:10], "2024-01-01")
        self.assertNotIn("s", [c["qualifier"] for c in rows[0]["cells"]])
        self.ok("import", "z.parquet", "--into", "u", "--key", "n")
        self.assertEqual([r["row"] for r in self.json("scan", "u")],
                         ["0", "1", "2"])
        self.assertIn('no column "nope"', self.fails(
            1, "import", "z.parquet", "--into", "u", "--key", "nope"))

    def test_bad_files(self):
        """A cut file is an error, and so is DuckDB where it is not."""
        self.fill(1)
        self.ok("export", "t", "x.parquet")
        with open(self.path("x.parquet"), "rb") as f:
            self.write("cut.parquet", f.read()[:1000])
        done = self.run_quarry("import", "cut.parquet", "--into", "u")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No magic bytes", done.stderr)
        self.env["QUARRY_DUCKDB"] = "/nowhere"
        self.assertIn("scripts/deps sql", self.fails(
            1, "import", "x.parquet", "--into", "u"))
        self.assertIn("scripts/deps sql", self.fails(
            1, "export", "t", "y.parquet"))
        self.assertFalse(os.path.exists(self.path("y.parquet")))
        self.write("a.arrow", b"ARROW1\0\0")
        self.assertIn("write it as Parquet", self.fails(
            1, "import", "a.arrow", "--into", "u"))


if __name__ == "__main__":
    main()

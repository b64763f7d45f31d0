"""put, get, delete, incr, check-and-put, scan and count do what they say, in
every format."""

import csv
import io

from harness import CliTest, main


class Cells(CliTest):
    def test_counters_as_numbers(self):
        """Eight bytes that are a small number are shown as one, also to
        programs."""
        self.table()
        self.ok("incr", "t", "r", "f:n", "--", "-7")
        self.assertIn("-7 = ", self.ok("scan", "t"))
        cell, = self.json("get", "t", "r")[0]["cells"]
        self.assertEqual(cell["number"], -7)
        self.ok("put", "t", "r", "f:n=abcdefgh")
        self.assertNotIn("number", self.json("get", "t", "r")[0]["cells"][0])

    def test_put_then_get(self):
        """get prints the cell that was put: family, qualifier, time, value."""
        self.table("t", "anchor", "contents")
        self.ok("put", "t", "com.cnn.www", "anchor:cnnsi.com=CNN",
                "contents:=<html>", "--time", "2024-05-01T10:20:30Z")
        rows = self.json("get", "t", "com.cnn.www")
        self.assertEqual(rows, [{"row": "com.cnn.www", "cells": [
            {"family": "anchor", "qualifier": "cnnsi.com",
             "timestamp_us": 1714558830000000, "time": "2024-05-01T10:20:30Z",
             "value": "CNN"},
            {"family": "contents", "qualifier": "",
             "timestamp_us": 1714558830000000, "time": "2024-05-01T10:20:30Z",
             "value": "<html>"}]}])
        text = self.ok("get", "t", "com.cnn.www")
        self.assertEqual(text,
                         "com.cnn.www\n"
                         "  anchor:cnnsi.com  2024-05-01T10:20:30Z  CNN\n"
                         "  contents:         2024-05-01T10:20:30Z  <html>\n")

    def test_columns_of_a_row(self):
        """get with columns gives these alone; a family stands for its columns.
        """
        self.table("t", "a", "b")
        self.ok("put", "t", "r", "a:x=1", "a:y=2", "b:z=3")

        def columns(*wanted):
            row, = self.json("get", "t", "r", *wanted)
            return [c["family"] + ":" + c["qualifier"] for c in row["cells"]]
        self.assertEqual(columns("a:x"), ["a:x"])
        self.assertEqual(columns("a"), ["a:x", "a:y"])
        self.assertEqual(columns("a:y", "b:"), ["a:y", "b:z"])

    def test_any_bytes(self):
        """Rows, qualifiers and values of any bytes go in and come out."""
        self.table()
        self.ok("put", "t", r"r\x00\xff", r"f:\x01q=a\nb\\c\xfe")
        self.assertIn(r"r\x00\xff", self.ok("scan", "t", "--keys-only"))
        self.assertIn(r"a\nb\\c\xfe", self.ok("get", "t", r"r\x00\xff"))
        raw = self.run_quarry("get", "t", r"r\x00\xff", "--raw").stdout
        self.assertEqual(raw, b"a\nb\\c\xfe")
        row, = self.json("get", "t", r"r\x00\xff")
        self.assertEqual(row["row_base64"], "cgD/")
        self.assertEqual(row["cells"][0]["value_base64"], "YQpiXGP+")

    def test_counters_are_shown_as_numbers(self):
        """In text a counter's number stands before its bytes."""
        self.table()
        self.ok("incr", "t", "r", "f:n", "5")
        self.ok("incr", "t", "r", "f:m", "-2")
        self.assertIn(r"  5 = \x00\x00\x00\x00\x00\x00\x00\x05",
                      self.ok("get", "t", "r"))
        self.assertIn(r"  -2 = \xff\xff", self.ok("scan", "t"))

    def test_seconds_are_not_microseconds(self):
        """A count of seconds or ms is refused, unless it says what it is."""
        self.table()
        for time in ("1714558830", "1714558830123"):
            self.assertIn("since 1970", self.fails(
                2, "put", "t", "r", "f:q=v", "--time", time))
            self.fails(2, "scan", "t", "--since", time)
        self.ok("put", "t", "r", "f:q=v", "--time", "@1714558830")
        row, = self.json("get", "t", "r")
        self.assertEqual(row["cells"][0]["time"], "2024-05-01T10:20:30Z")

    def test_value_from_file(self):
        """--file takes a file's bytes as they are, and - standard input."""
        self.table()
        self.write("page", bytes(range(256)) * 50)
        self.ok("put", "t", "r", "--file", "f:page=page")
        self.ok("put", "t", "s", "--file", "f:in=-", stdin="from stdin")
        self.assertEqual(self.run_quarry("get", "t", "r", "--raw").stdout,
                         bytes(range(256)) * 50)
        self.assertEqual(self.ok("get", "t", "s", "--raw"), "from stdin")

    def test_versions(self):
        """Cells of one column by time: newest first, --versions, --since and
        --until choose."""
        self.table()
        for day in (1, 2, 3):
            self.ok("put", "t", "r", "f:q=v%d" % day, "--time",
                    "2024-05-0%d" % day)

        def values(*options):
            return [c["value"] for row in self.json("scan", "t", *options)
                    for c in row["cells"]]
        self.assertEqual(values(), ["v3", "v2", "v1"])
        self.assertEqual(values("--versions", "2"), ["v3", "v2"])
        self.assertEqual(values("--since", "2024-05-02"), ["v3", "v2"])
        self.assertEqual(values("--until", "20240502000000"), ["v1"])
        self.assertEqual(values("--since", "2024-05-02", "--until",
                                "2024-05-03"), ["v2"])

    def test_scan_ranges(self):
        """--start, --end, --prefix, --row and --limit choose rows, in order."""
        self.table()
        for row in ("a", "b", "ba", "bb", "c"):
            self.ok("put", "t", row, "f:q=" + row)

        def keys(*options):
            return self.ok("scan", "t", "--keys-only", *options).split()
        self.assertEqual(keys(), ["a", "b", "ba", "bb", "c"])
        self.assertEqual(keys("--start", "b", "--end", "bb"), ["b", "ba"])
        self.assertEqual(keys("--prefix", "b"), ["b", "ba", "bb"])
        self.assertEqual(keys("--prefix", "a", "--prefix", "c"), ["a", "c"])
        self.assertEqual(keys("--row", "c", "--row", "a"), ["a", "c"])
        self.assertEqual(keys("--limit", "2"), ["a", "b"])
        self.assertEqual(keys("--row-regex", ".a"), ["ba"])
        self.assertEqual(keys("--value", "b+"), ["b", "bb"])

    def test_scan_columns(self):
        """--family and --column choose columns."""
        self.table("t", "f", "g")
        self.ok("put", "t", "r", "f:one=1", "f:two=2", "g:one=3")

        def values(*options):
            row, = self.json("scan", "t", *options)
            return [c["value"] for c in row["cells"]]
        self.assertEqual(values("--family", "f"), ["1", "2"])
        self.assertEqual(values("--column", ".*:one"), ["1", "3"])

    def test_csv(self):
        """CSV quotes what it must, and reads back as it was."""
        self.table()
        self.ok("put", "t", "r", 'f:q=a,"b"\\nc', "--time", "1000000")
        rows = list(csv.reader(io.StringIO(
            self.ok("scan", "t", "--format", "csv"))))
        self.assertEqual(rows, [
            ["row", "family", "qualifier", "timestamp_us", "value"],
            ["r", "f", "q", "1000000", 'a,"b"\nc']])

    def test_delete(self):
        """delete takes away cells, columns, families, rows and ranges."""
        self.table("t", "f", "g")
        for row in ("r1", "r2", "s1"):
            self.ok("put", "t", row, "f:a=1", "f:b=2", "g:c=3")
        self.ok("delete", "t", "r1", "f:a")
        self.assertEqual(self.json("count", "t"), [{"rows": 3, "cells": 8}])
        self.ok("delete", "t", "r1", "f")
        self.assertEqual(self.json("count", "t"), [{"rows": 3, "cells": 7}])
        self.ok("delete", "t", "r1")
        self.assertEqual(self.json("count", "t"), [{"rows": 2, "cells": 6}])
        self.ok("delete", "t", "--prefix", "r")
        self.assertEqual(self.ok("scan", "t", "--keys-only"), "s1\n")
        self.assertIn("which row", self.fails(2, "delete", "t"))

    def test_incr(self):
        """A counter starts at 0, adds, subtracts, and prints its value."""
        self.table()
        self.assertEqual(self.ok("incr", "t", "r", "f:n"), "1\n")
        self.assertEqual(self.ok("incr", "t", "r", "f:n", "41"), "42\n")
        self.assertEqual(self.ok("incr", "t", "r", "f:n", "-50"), "-8\n")
        self.ok("put", "t", "r", "f:text=seven")
        self.assertIn("a counter has 8", self.fails(1, "incr", "t", "r", "f:text"))

    def test_add(self):
        """Cells of an aggregate are added to, and read as their state."""
        self.ok("table", "create", "s", "--family", "sum,aggregate=sum",
                "--family", "max,aggregate=max", "--family",
                "who,aggregate=hll-bytes", "--family", "plain")
        self.ok("add", "s", "r", "sum:n", "5")
        self.ok("add", "s", "r", "sum:n")
        self.ok("add", "s", "r", "sum:n", "-2", "--time", "1000")
        self.ok("add", "s", "r", "max:n", "7")
        self.ok("add", "s", "r", "max:n", "-9")
        for who in "ann", "bob", "ann":
            self.ok("add", "s", "r", "who:n", who)
        text = self.ok("get", "s", "r")
        self.assertIn("  6 = ", text)
        self.assertIn("  -2 = ", text)
        self.assertIn("  7 = ", text)
        cell, = (c for c in self.json("get", "s", "r", "who:")[0]["cells"])
        self.assertIn("value_base64", cell)
        self.fails(1, "put", "s", "r", "sum:n=12345678")
        self.fails(1, "add", "s", "r", "plain:n", "1")
        self.fails(2, "add", "s", "r", "sum:n", "x")
        self.fails(2, "add", "s", "r", "who:n")
        family = self.json("table", "describe", "s")
        self.assertIn("aggregate", str(family))

    def test_check_and_put(self):
        """The change happens only if the condition holds; exit 1 says no."""
        self.table()
        take = ("check-and-put", "t", "job", "--if-not", "f:owner",
                "f:owner=me")
        self.ok(*take)
        self.assertIn("nothing was changed", self.fails(1, *take))
        self.assertIn("nothing was changed", self.fails(
            1, "check-and-put", "t", "job", "--if", "f:owner=you", "f:x=1"))
        self.ok("check-and-put", "t", "job", "--if", "f:owner=me",
                "f:owner=you")
        self.assertEqual(self.ok("get", "t", "job", "--raw"), "you")

    def test_survives_restart(self):
        """Each command is a process: what one acknowledged, the next sees, and
        so it is after a compaction."""
        self.table()
        for i in range(20):
            self.ok("put", "t", "r%02d" % i, "f:q=%d" % i)
        self.ok("table", "compact", "t")
        self.ok("put", "t", "r20", "f:q=20")
        self.assertEqual(self.json("count", "t"), [{"rows": 21, "cells": 21}])


if __name__ == "__main__":
    main()

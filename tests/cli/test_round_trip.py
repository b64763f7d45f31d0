"""load reads what export writes: the same cells, whatever their bytes.
export treats its target (a file, a link, a pipe) as what it is."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import random
import stat
import threading

from harness import CliTest, main

PIECES = [b"", b"a", b"word", b"\x00", b"\t", b"\n", b"\r", b"\r\n", b'"', b",",
          b"\\", b"\\x41", b"base64:", b"\xff", b"\xc3", "\u00fc".encode(),
          "\u20ac".encode(), "\U0001f600".encode(), b"\xed\xa0\x80", b"{", b":",
          b"\xe2\x80\xa8", b"\x7f", b" "]


def escaped(data):
    return "".join("\\x%02x" % byte for byte in data)


class RoundTrip(CliTest):
    def draw_bytes(self, draw, least=0):
        return b"".join(draw.choice(PIECES)
                        for _ in range(draw.randrange(4))) or b"z" * least

    def fill(self, seed=5, large=0):
        """Cells of any bytes, with several versions and empty values, some of
        @large bytes."""
        draw = random.Random(seed)
        cells = {}
        for _ in range(150):
            row = self.draw_bytes(draw, 1)
            if large and draw.random() < 0.02:
                cells[(row, "f", b"large", 7)] = draw.randbytes(large)
            for _ in range(draw.randrange(1, 4)):
                key = (row, draw.choice(["f", "g"]), self.draw_bytes(draw),
                       draw.choice([0, 5, 1714558830000000,
                                    draw.randrange(1 << 50)]))
                cells[key] = self.draw_bytes(draw)
        self.write("in.tsv", "".join(
            "%s\t%s:%s\t%d\t%s\n" % (escaped(k[0]), k[1], escaped(k[2]), k[3],
                                     escaped(v))
            for k, v in sorted(cells.items())))
        self.table("t", "f", "g")
        self.ok("load", "t", "in.tsv")
        return cells

    def test_every_format(self):
        cells = self.fill()
        first = self.ok("scan", "t", "--format", "json")
        self.assertEqual(first.count('"timestamp_us"'), len(cells))
        for name in ("out.tsv", "out.jsonl", "out.csv"):
            self.ok("export", "t", name)
            self.table("back", "f", "g")
            self.ok("load", "back", name)
            self.assertEqual(self.ok("scan", "back", "--format", "json"),
                             first, name)
            self.ok("table", "drop", "back")

    def test_random_tables(self):
        """An import of an export gives the same cells: any table, in every
        format and packing, in one file, in several, through a pipe."""
        forms = ["jsonl", "tsv", "csv", "records"]
        packings = ["", ".gz", ".zst", ".lz4", ".bz2", ".xz"]
        for seed in range(3):
            draw = random.Random(seed)
            self.fill(seed, large=300000)
            first = self.ok("scan", "t", "--format", "json")
            for n, form in enumerate(forms):
                name = "out." + form
                if form != "records":
                    name += packings[(seed + n) % len(packings)]
                self.ok("export", "t", name, "--with-schema")
                self.same(first, "import", name, "--into", "back", "--create")
                split = draw.choice([1, 2, 5])
                self.ok("export", "t", "parts-" + name, "--split", str(split),
                        "--with-schema")
                parts = sorted(p for p in os.listdir(self.dir)
                               if p.startswith("parts-out-"))
                self.assertEqual(len(parts), split)
                self.same(first, "import", "parts-*-of-*", "--into", "back")
                for part in parts:
                    os.unlink(self.path(part))
                done = self.run_quarry("export", "t", "--format", form,
                                       *(["--compress", "zst"]
                                         if form != "records" else []))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.same(first, "import", "-", "--into", "back",
                          stdin=done.stdout)
            self.ok("table", "drop", "t")

    def in_order(self, lines):
        rows = [json.loads(line) for line in lines.split("\n") if line]
        for row in rows:
            row["cells"].sort(key=lambda c: str(c["family"]))
        return rows

    def same(self, first, *command, stdin=None):
        """@command fills the table `back` with the same cells as @first."""
        self.ok(*command, stdin=stdin)
        rows = self.ok("scan", "back", "--format", "json")
        # Families come in the order in which they were made.
        if "-" in command:
            rows, first = self.in_order(rows), self.in_order(first)
        self.assertEqual(rows, first, command)
        self.ok("table", "drop", "back")

    def test_parts_of_a_table(self):
        """Ranges, prefixes, families, versions and times narrow every format;
        parts together have the same rows, each once."""
        self.fill()
        narrowings = (["--start", "b", "--end", "w", "--versions", "1"],
                      ["--prefix", "a", "--family", "g", "--until", "2024"],
                      ["--row", "word", "--row", "a"])
        for narrow in narrowings:
            want = self.ok("export", "t", *narrow)
            for form in ("tsv", "records"):
                for split in ([], ["--split", "3"]):
                    self.ok("export", "t", "x." + form, *narrow, *split)
                    if want:
                        self.ok("import", "x*." + form, "--into", "back")
                        self.assertEqual(self.in_order(
                            self.ok("export", "back")), self.in_order(want),
                            (narrow, form, split))
                        self.ok("table", "drop", "back")
                    for name in os.listdir(self.dir):
                        if name.startswith("x"):
                            os.unlink(self.path(name))

    def test_damaged_records(self):
        """A record file that is cut, broken, or of something else is refused."""
        self.fill()
        self.ok("export", "t", "out.records")
        with open(self.path("out.records"), "rb") as f:
            whole = f.read()
        self.write("cut", whole[:len(whole) // 2])
        self.fails(1, "import", "cut", "--into", "back")
        broken = bytearray(whole)
        broken[100] ^= 1
        self.write("broken", bytes(broken))
        self.fails(1, "import", "broken", "--into", "back")

    def test_pipes_of_other_programs(self):
        """Packed files are those that gzip, bzip2 and xz read."""
        self.fill()
        plain = self.ok("export", "t", "--format", "tsv")
        for suffix, unpack in ((".gz", gzip.decompress),
                               (".bz2", bz2.decompress),
                               (".xz", lzma.decompress)):
            self.ok("export", "t", "out.tsv" + suffix)
            with open(self.path("out.tsv" + suffix), "rb") as f:
                self.assertEqual(unpack(f.read()).decode(), plain)
        self.ok("table", "create", "e", "-f", "f")
        self.ok("export", "e", "none.jsonl.gz")
        with open(self.path("none.jsonl.gz"), "rb") as f:
            self.assertEqual(gzip.decompress(f.read()), b"")

    def test_csv_is_for_other_readers(self):
        """CSV is UTF-8 without NULs, and bytes that are not that are marked."""
        cells = self.fill()
        self.ok("export", "t", "out.csv")
        with open(self.path("out.csv"), "rb") as f:
            text = f.read()
        self.assertNotIn(b"\0", text)
        rows = list(csv.reader(io.StringIO(text.decode(), newline="")))
        self.assertEqual(len(rows), len(cells) + 1)
        self.assertEqual({len(r) for r in rows}, {5})

    def test_bad_lines(self):
        """A file that is no export is refused with its line."""
        self.table()
        self.write("x", '{"row": "a", "cells": []}\n{"row": "b"}\n')
        self.assertIn("x: line 2: a row without", self.fails(
            1, "load", "t", "x"))
        self.write("x", "row,family,qualifier,timestamp_us,value\na,f,q,x,v\n")
        self.assertIn("x: line 2: its time", self.fails(1, "load", "t", "x"))
        self.write("x", 'row,family,qualifier,timestamp_us,value\na,f,q,1,"v\n')
        self.assertIn("inside of quotes", self.fails(1, "load", "t", "x"))
        self.write("x", '{"row": "a", "cells": [{"family": "f", "qualifier": '
                   '"q", "timestamp_us": 1, "value_base64": "???"}]}\n')
        self.assertIn("x: line 1: neither", self.fails(1, "load", "t", "x"))
        self.assertEqual(self.json("count", "t")[0]["rows"], 0)


class Targets(CliTest):
    def setUp(self):
        super().setUp()
        self.table()
        self.ok("put", "t", "r", "f:q=v", "--time", "5")
        self.line = b"r\tf:q\t5\tv\n"

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def test_names(self):
        """The suffix says the format; --format overrides it; a format that is
        not written is refused."""
        self.ok("export", "t", "x.csv")
        self.assertTrue(self.read("x.csv").startswith(b"row,family,"))
        self.ok("export", "t", "-o", "x.tsv")
        self.assertEqual(self.read("x.tsv"), self.line)
        self.ok("export", "t", "x.jsonl")
        self.assertTrue(self.read("x.jsonl").startswith(b'{"row": "r"'))
        self.ok("export", "t", "y.csv", "--format", "tsv")
        self.assertEqual(self.read("y.csv"), self.line)
        for name in ("x.orc", "x.csv.zip", "x.arrow"):
            self.assertIn("not written", self.fails(2, "export", "t", name))
            self.assertFalse(os.path.exists(self.path(name)))
        self.fails(2, "export", "t", "--format", "xml")
        self.fails(2, "export", "t", "--compress", "rar")
        self.fails(2, "export", "t", "x.records", "--compress", "gz")
        self.fails(2, "export", "t", "--split", "2")
        self.fails(2, "export", "t", "x.tsv", "--split", "2", "--limit", "3")
        self.fails(2, "export", "t", "x.warc", "--split", "2")

    def test_mode_is_kept(self):
        self.write("x.tsv", "old")
        os.chmod(self.path("x.tsv"), 0o600)
        self.ok("export", "t", "x.tsv")
        self.assertEqual(self.read("x.tsv"), self.line)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("x.tsv")).st_mode),
                         0o600)

    def test_link(self):
        """A link stays, what it leads to is written."""
        os.mkdir(self.path("d"))
        self.write("d/x.tsv", "old")
        os.symlink("d/x.tsv", self.path("link"))
        self.ok("export", "t", "link", "--format", "tsv")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.read("d/x.tsv"), self.line)
        os.symlink("nowhere", self.path("dead"))
        self.assertIn("link to nothing", self.fails(1, "export", "t", "dead"))
        self.assertIn("a directory", self.fails(1, "export", "t", "d"))

    def test_pipe_and_device(self):
        """A FIFO and a device are written to, and stay what they are."""
        os.mkfifo(self.path("pipe"))
        seen = []
        reader = threading.Thread(target=lambda: seen.append(self.read("pipe")))
        reader.start()
        self.ok("export", "t", "pipe", "--format", "tsv")
        reader.join()
        self.assertEqual(seen, [self.line])
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("pipe")).st_mode))
        os.symlink("/dev/null", self.path("null"))
        self.ok("export", "t", "null")
        self.assertTrue(stat.S_ISCHR(os.stat(self.path("null")).st_mode))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_failure_leaves_the_old_file(self):
        self.write("x.tsv", "old")
        self.fails(1, "export", "nothere", "x.tsv")
        self.fails(1, "export", "t", "x.tsv", "--row-regex", "(")
        self.assertEqual(self.read("x.tsv"), b"old")
        self.assertEqual([n for n in os.listdir(self.dir) if "partial" in n],
                         [])


if __name__ == "__main__":
    main()

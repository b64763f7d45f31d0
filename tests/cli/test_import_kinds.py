"""import without a kind: what files are, how they are packed and where they come
from is told by their contents; what is bad is refused with its place."""

import bz2
import gzip
import json
import lzma
import os
import random
import shutil
import subprocess
import unittest

from harness import CliTest, main

ZSTD = shutil.which("zstd")
LZ4 = shutil.which("lz4")


def run_packer(*command):
    return lambda data: subprocess.run(command, input=data, check=True,
                                       stdout=subprocess.PIPE).stdout


PACKERS = {"plain": lambda data: data, "gz": gzip.compress,
           "bz2": lambda data: bz2.compress(data, 1), "xz": lzma.compress}
if ZSTD:
    PACKERS["zst"] = run_packer(ZSTD, "-q", "-c")
if LZ4:
    PACKERS["lz4"] = run_packer(LZ4, "-q", "-B4", "-c")

WARC_BODY = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>x</p>"
WARC = (b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        b"WARC-Date: 2024-01-01T00:00:00Z\r\n"
        b"WARC-Target-URI: http://a.example/\r\n"
        b"Content-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(WARC_BODY), WARC_BODY))

# Of each kind a text, and the rows it makes.
KINDS = {
    "csv": ("name,note\na,1\nb,\"two; 2\"\n", ["a", "b"]),
    "csv, ;": ("name;note\na;1,5\nb;2,5\nc;3,5\n", ["a", "b", "c"]),
    "csv, tab": ("name\tnote\na\t1\nb\t2\n", ["a", "b"]),
    "jsonl": ('{"id": "a", "n": 1}\n\n{"id": "b"}\n', ["a", "b"]),
    "access log": ('1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /x HTTP/1.0"'
                   ' 200 1 "-" "M"\n', None),
    "cells, tsv": ("a\tf:q\t5\tv\nb\tf:\t6\t\\x00\n", ["a", "b"]),
    "cells, csv": ("row,family,qualifier,timestamp_us,value\r\na,f,q,5,v\r\n",
                   ["a"]),
    "cells, jsonl": ('{"row": "a", "cells": [{"family": "f", "qualifier": "q", '
                     '"timestamp_us": 5, "value": "v"}]}\n', ["a"]),
    "warc": (WARC, None),
}


class Kinds(CliTest):
    def rows(self, table):
        return [r["row"] for r in self.json("scan", table, "--keys-only")]

    def test_each_kind_in_each_packing(self):
        """Every kind, in every packing, from a file and from standard input, is
        the same table."""
        tables = 0
        for kind, (text, rows) in KINDS.items():
            data = text if isinstance(text, bytes) else text.encode()
            want = None
            for packing, pack in PACKERS.items():
                packed = pack(data)
                self.write("in", packed)
                for source in ("in", "-"):
                    t = "t%d" % tables
                    tables += 1
                    self.ok("import", source, "--into", t,
                            stdin=packed if source == "-" else None)
                    # Where a page comes from is in meta:source.
                    got = self.ok("export", t, "--column", "[^m].*")
                    want = want or got
                    self.assertEqual(got, want, (kind, packing, source))
            if rows:
                self.assertEqual(self.rows(t), rows, kind)

    def test_packed_in_parts(self):
        """Members, frames and streams one after the other are one text, and xz
        may pad them."""
        parts = [b"k,v\na,", b"1\nb,2\n", b"", b"c,3\n"]
        for packing, pack in PACKERS.items():
            pad = b"\0\0\0\0" if packing == "xz" else b""
            self.write("in.csv", b"".join(pack(p) + pad for p in parts))
            self.ok("import", "in.csv", "--into", packing)
            self.assertEqual(self.rows(packing), ["a", "b", "c"], packing)

    def test_patterns_and_directories(self):
        """A directory stands for its files, a pattern for what it matches; what
        is hidden or lies beside an export is left out."""
        os.makedirs(self.path("d/deep"))
        self.write("d/1.csv", "k,v\na,1\n")
        self.write("d/deep/2", gzip.compress(b"k,v\nb,2\n"))
        self.write("d/.hidden", "\0\0\0")
        self.write("d/_logs", "\0\0\0")
        self.write("d/x.schema", "{}")
        self.ok("import", "d/", "--into", "t")
        self.assertEqual(self.rows("t"), ["a", "b"])
        self.ok("import", "d/*.csv", "--into", "u")
        self.assertEqual(self.rows("u"), ["a"])
        self.ok("import", "csv", "d", "--into", "v")
        self.assertEqual(self.rows("v"), ["a", "b"])
        self.assertIn("d/*.none: no file matches", self.fails(
            1, "import", "d/*.none", "--into", "t"))
        os.mkdir(self.path("empty"))
        self.assertIn("without files", self.fails(
            1, "import", "empty", "--into", "t"))

    def test_one_kind_at_a_time(self):
        self.write("a.csv", "k,v\na,1\n")
        self.write("b.txt", '{"id": "b"}\n')
        said = self.fails(1, "import", "a.csv", "b.txt", "--into", "t")
        self.assertIn("a.csv is CSV and b.txt is JSON lines", said)
        self.assertFalse(os.path.exists(self.path("quarry-data")))

    def test_unknown_kinds(self):
        """A file that fits no kind is named for what it looks like, with a way
        out."""
        for text, said in (("just words\nof a poem\n", "no kind"),
                           ("", "empty"), ('[{"id": 1}]\n', "JSON array"),
                           ('{\n"id": 1\n}\n', "no object is on one line"),
                           ("<html><body>x</body></html>", "an HTML page"),
                           ("\x00\x01\x02" * 100, "a binary file"),
                           ("a,b\r1,2\r3,4\r", "carriage returns alone")):
            self.write("in", text)
            self.assertIn(said, self.fails(1, "import", "in", "--into", "t"))
        self.write("in", gzip.compress(bz2.compress(b"k,v\na,1\n")))
        self.assertIn("compressed twice", self.fails(
            1, "import", "in", "--into", "t"))
        self.assertIn("nowhere", self.fails(
            1, "import", "nowhere", "--into", "t"))
        self.assertFalse(os.path.exists(self.path("quarry-data")))

    def test_line_ends_and_marks(self):
        """CRLF and LF mixed, a mark of UTF-8, NULs, no end of the last line."""
        self.write("in", b"\xef\xbb\xbfk,v\r\na,1\nb,\"x\r\ny\"\r\nc,\0z")
        self.ok("import", "in", "--into", "t")
        values = {r["row"]: r["cells"][0]["value"]
                  for r in self.json("scan", "t")}
        self.assertEqual(values, {"a": "1", "b": "x\r\ny", "c": "\0z"})
        self.write("in", b'\xef\xbb\xbf{"id": "a", "v": 1}\r\n{"id": "b"}')
        self.ok("import", "in", "--into", "u")
        self.assertEqual(self.rows("u"), ["a", "b"])


class Damage(CliTest):
    LINES = ["r%06d,%s" % (i, "%030x" % random.Random(i).getrandbits(120))
             for i in range(12000)]

    def test_cut_files(self):
        """A packed file that ends early is no success: what was whole is there,
        half a line is not, and the status says so unless it is allowed."""
        text = ("k,v\n" + "\n".join(self.LINES) + "\n").encode()
        for packing, pack in PACKERS.items():
            if packing == "plain":
                continue
            packed = pack(text)
            self.write("in", packed[:len(packed) * 2 // 3])
            said = self.fails(1, "import", "in", "--into", "t")
            self.assertIn("damaged, and not read whole", said, packing)
            rows = self.json("scan", "t")
            self.assertGreater(len(rows), 5000, packing)
            for row in rows:
                n = int(row["row"][1:])
                self.assertEqual(self.LINES[n].split(",")[1],
                                 row["cells"][0]["value"], packing)
            self.ok("import", "in", "--into", "t", "--max-errors", "10")
            self.ok("table", "drop", "t")

    def test_broken_bytes(self):
        """A flipped bit inside is found by the packing's checksum."""
        text = ("k,v\n" + "\n".join(self.LINES) + "\n").encode()
        for packing, pack in PACKERS.items():
            if packing == "plain":
                continue
            packed = bytearray(pack(text))
            packed[len(packed) // 2] ^= 0x10
            self.write("in", bytes(packed))
            said = self.fails(1, "import", "in", "--into", "t")
            self.assertRegex(said, "damaged|most of the input", packing)

    def test_bomb(self):
        """A small file that unpacks to much more takes no more memory than
        another: zeros without an end of line are one line that is skipped."""
        bomb = gzip.compress(b"k,v\na,1\n" + b"x" * (96 << 20) + b"\nb,2\n")
        self.assertLess(len(bomb), 200000)
        self.write("bomb", bomb)
        done = self.run_quarry("import", "bomb", "--into", "t")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"line over 64 MiB, skipped", done.stderr)
        self.assertEqual(self.json("count", "t")[0]["rows"], 2)

    def test_xz_that_wants_memory(self):
        """A header may ask for a dictionary of gigabytes: that is refused."""
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
        packed = bytearray(lzma.compress(b"k,v\na,1\n" * 100,
                                         format=lzma.FORMAT_XZ,
                                         filters=filters))
        # The property of the filter is the size; its CRC is in the header.
        at = packed.index(b"\x21\x01", 12) + 2
        packed[at] = 39
        end = 12 + (packed[12] + 1) * 4
        crc = __import__("binascii").crc32(bytes(packed[12:end - 4]))
        packed[end - 4:end] = crc.to_bytes(4, "little")
        self.write("in", bytes(packed))
        done = self.run_quarry("import", "csv", "in", "--into", "t")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"more than 256 MiB of memory", done.stderr)


class Refused(CliTest):
    BAD = '{"id": "a"}\nfirst bad\r\n{"id": "b"}\n{"n": 1}\n{"id": "c"}\nlast'

    def test_report(self):
        """Rows written, rows new, lines refused: with line and reason."""
        self.write("in", self.BAD)
        done = self.run_quarry("import", "in", "--into", "t")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"3 rows, 3 new, 3 refused or lost into t", done.stdout)
        self.assertIn(b"in: byte 12, line 2: ", done.stderr)
        self.assertIn(b"in: byte 35, line 4: no key field", done.stderr)
        done = self.run_quarry("import", "in", "--into", "t")
        self.assertIn(b"3 rows, none new", done.stdout)
        self.write("in", '{"id": "c"}\n{"id": "d"}\n{"id": "d"}\n')
        report, = self.json("import", "in", "--into", "t")
        self.assertEqual((report["rows"], report["new_rows"]), (2, 1))
        report, = self.json("import", "in", "--into", "t", "--no-count")
        self.assertEqual(report["new_rows"], 0)

    def test_rejects(self):
        """--rejects keeps refused lines byte for byte, and their places."""
        self.write("in", self.BAD)
        self.ok("import", "in", "--into", "t", "--rejects", "bad")
        with open(self.path("bad"), "rb") as f:
            bad = f.read()
        self.assertEqual(bad, b'first bad\r\n{"n": 1}\nlast\n')
        with open(self.path("bad.reasons")) as f:
            reasons = [json.loads(line) for line in f]
        self.assertEqual([(r["file"], r["line"], r["offset"]) for r in reasons],
                         [("in", 2, 12), ("in", 4, 35), ("in", 6, 56)])
        self.assertEqual([bad[r["at"]:r["at"] + r["bytes"]] for r in reasons],
                         [b"first bad\r\n", b'{"n": 1}\n', b"last"])
        self.assertTrue(all(r["reason"] for r in reasons))
        self.write("in", b'k,v\na,1\n,2\r\nb,"two\r\nlines"\n,"x\r\ny"\n')
        self.ok("import", "in", "--into", "u", "--rejects", "bad")
        with open(self.path("bad"), "rb") as f:
            self.assertEqual(f.read(), b',2\r\n,"x\r\ny"\n')

    def test_strict(self):
        """--strict stops at the first bad line: nothing behind it is stored."""
        self.write("in", '{"id": "a"}\nbad\n' + "".join(
            '{"id": "r%d"}\n' % i for i in range(5000)))
        said = self.fails(1, "import", "in", "--into", "t", "--strict")
        self.assertIn("in: damaged at byte 12: ", said)
        self.assertEqual(self.json("count", "t")[0]["rows"], 1)
        self.ok("import", "in", "--into", "u", "--max-errors", "1")
        self.assertEqual(self.json("count", "u")[0]["rows"], 5001)
        self.fails(1, "import", "in", "--into", "u", "--max-errors", "0")
        self.fails(2, "import", "in", "--into", "u", "--strict",
                   "--max-errors", "3")


class Exports(CliTest):
    def fill(self):
        self.ok("table", "create", "t", "-f", "f,versions=2", "-f",
                "g,ttl=36500d,group=big", "-g", "big,block=128KiB")
        self.ok("put", "t", "r1", "f:q=v1", "--time", "5")
        self.ok("put", "t", "r1", "f:q=v2", "--time", "6")
        self.ok("put", "t", "r2", "g:=x", "--time", "1714558830000000")

    def test_families_are_made(self):
        """An export without a schema makes the families that it names."""
        self.fill()
        self.ok("export", "t", "out.tsv")
        for name in ("out.tsv", "-"):
            with open(self.path("out.tsv"), "rb") as f:
                self.ok("import", name, "--into", "u", stdin=f.read())
            self.assertEqual(self.ok("export", "u"), self.ok("export", "t"))

    def test_schema(self):
        """--with-schema writes families and groups beside the export: an import
        makes the table as it was."""
        self.fill()
        self.ok("export", "t", "out.jsonl", "--with-schema")
        self.ok("import", "out.jsonl", "--into", "u")
        with open(self.path("out.jsonl.schema")) as f:
            schema = json.load(f)
        self.ok("export", "u", "again.jsonl", "--with-schema")
        with open(self.path("again.jsonl.schema")) as f:
            again = json.load(f)
        self.assertEqual([f["name"] for f in schema["families"]], ["f", "g"])
        self.assertIn("versions=2", schema["families"][0]["options"])
        self.assertIn("group=big", schema["families"][1]["options"])
        again["table"] = "t"
        self.assertEqual(again, schema)
        self.assertEqual(self.ok("export", "u"), self.ok("export", "t"))
        self.assertIn("exists", self.fails(
            1, "import", "out.jsonl", "--into", "u", "--create"))
        self.ok("import", "-", "--into", "v", "--create", "--schema",
                "out.jsonl.schema", stdin=self.ok("export", "t"))
        self.assertIn("no such file", self.fails(
            1, "import", "-", "--into", "w", "--create", stdin="a\tf:\t1\tv"))
        self.write("bad", "{}")
        self.assertIn("no schema of a table", self.fails(
            1, "import", "-", "--into", "w", "--schema", "bad",
            stdin="a\tf:\t1\tv"))
        self.assertIn("beside which FILE", self.fails(
            2, "export", "t", "--with-schema"))

    def test_a_family_that_is_not_there(self):
        """A table that was there is not changed."""
        self.fill()
        self.ok("export", "t", "out.tsv")
        self.table("u", "f")
        said = self.fails(1, "import", "out.tsv", "--into", "u")
        self.assertIn('no family "g"', said)

    def test_bad_rows(self):
        """A row with a bad cell is refused whole."""
        cell = ('{"family": "f", "qualifier": "q", "timestamp_us": 1, '
                '"value": "v"}')
        self.write("in", '{"row": "a", "cells": [%s]}\n'
                   '{"row": "b", "cells": [%s, {"family": "f"}]}\n'
                   '{"row": "c", "cells": [%s]}\n' % (cell, cell, cell))
        done = self.run_quarry("import", "in", "--into", "t")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"line 2: neither", done.stderr)
        self.assertEqual([r["row"] for r in self.json("scan", "t")],
                         ["a", "c"])


if __name__ == "__main__":
    if not ZSTD or not LZ4:
        print("SKIPPED: zstd or lz4 is not installed: those packings are not "
              "made")
    unittest.TestCase.maxDiff = None
    main()

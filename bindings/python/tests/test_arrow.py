"""Scans as Arrow, read by ctypes alone, and by pyarrow, pandas and polars where
they are installed."""

import os
import random
import struct
import tempfile
import unittest

import arrow_reader
import quarry

try:
    import pyarrow
except ImportError:
    pyarrow = None
try:
    import pandas
except ImportError:
    pandas = None
try:
    import polars
except ImportError:
    polars = None


class Arrow(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.db = quarry.open(os.path.join(self.dir.name, "db"))
        self.t = self.db.create_table("t", {"a": "versions=2", "n": ""})

    def tearDown(self):
        self.db.close()
        self.dir.cleanup()

    def fill(self, count, seed=1):
        rand = random.Random(seed)
        with self.t.batch() as b:
            for i in range(count):
                cells = {b"a:%d" % q: os.urandom(rand.randrange(30))
                         for q in range(rand.randrange(4))}
                cells[b"a:t"] = ("text %d ä" % i).encode()
                if rand.random() < 0.5:
                    cells[b"n:i"] = struct.pack(">q", rand.randrange(-9, 9))
                    cells[b"n:f"] = struct.pack(">d", rand.random())
                b.put(b"r%06d" % i, cells)

    def test_cells(self):
        self.fill(500)
        self.t.put("r000003", {"a:t": "newer"})
        names, formats, rows, _ = arrow_reader.read(self.t.scan_arrow())
        self.assertEqual(names, ["key", "family", "qualifier", "timestamp",
                                 "value"])
        self.assertEqual(formats, [b"z", b"u", b"z", b"tsu:UTC", b"z"])
        want = [(r.key, c.family, c.qualifier, c.timestamp_us, c.value)
                for r in self.t.scan() for c in r]
        self.assertEqual([tuple(r.values()) for r in rows], want)

    def test_columns(self):
        self.fill(500)
        scan = self.t.scan_arrow({"text": ("a:t", "utf8"), "i": ("n:i", "int64"),
                                  "f": ("n:f", "float64"), "zero": "a:0",
                                  "all": "a"})
        _, formats, rows, _ = arrow_reader.read(scan)
        self.assertEqual(formats, [b"z", b"u", b"l", b"g", b"z", b"+m"])

        def number(form, value):
            return None if value is None else struct.unpack(form, value)[0]
        want = [{"key": r.key, "text": r["a:t"].decode(),
                 "i": number(">q", r.value("n:i")),
                 "f": number(">d", r.value("n:f")),
                 "zero": r.value("a:0"), "all": r.family("a")}
                for r in self.t.scan()]
        self.assertEqual(rows, want)

    def test_batches(self):
        """More than one batch has; options of scans; nothing."""
        with self.t.batch() as b:
            for i in range(70000):
                b.put(b"r%06d" % i, {"a:t": "x"})
        scan = self.t.scan_arrow({"t": "a:t"})
        _, _, rows, batches = arrow_reader.read(scan)
        self.assertEqual((len(rows), batches), (70000, 2))
        _, _, rows, _ = arrow_reader.read(self.t.scan_arrow(
            {"t": "a:t"}, prefix="r00001", limit=5))
        self.assertEqual([r["key"] for r in rows],
                         [b"r00001%d" % i for i in range(5)])
        self.assertEqual(arrow_reader.read(self.t.scan_arrow(
            prefix="nothing"))[2:], ([], 0))

    def test_values_of_another_type(self):
        self.t.put("r", {"a:t": b"\xff\xfe", "n:i": b"short"})
        for columns in ({"t": ("a:t", "utf8")}, {"i": ("n:i", "int64")}):
            with self.assertRaises(ValueError) as e:
                arrow_reader.read(self.t.scan_arrow(columns))
            self.assertIn("row r, column", str(e.exception))
        with self.assertRaises(ValueError):
            self.t.scan_arrow({"t": ("a:t", "complex128")})

    def test_abandoned(self):
        """A stream that nobody reads, or not to its end, frees the table."""
        self.fill(10)
        capsule = self.t.scan_arrow().__arrow_c_stream__()
        with self.assertRaises(quarry.BusyError):
            self.t.close()
        del capsule
        self.t.close()

    @unittest.skipUnless(pyarrow, "SKIPPED: pyarrow is not installed")
    def test_pyarrow(self):
        self.fill(3000)
        table = self.t.scan_arrow({"t": ("a:t", "utf8"), "all": "a"}).to_arrow()
        table.validate(full=True)
        self.assertEqual(table.num_rows, 3000)
        self.t.scan_arrow().to_arrow().validate(full=True)
        reader = self.t.scan_arrow().to_reader()
        self.assertGreater(sum(b.num_rows for b in reader), 3000)

    @unittest.skipUnless(pyarrow and pandas, "SKIPPED: no pandas")
    def test_pandas(self):
        self.fill(100)
        frame = self.t.scan_arrow({"i": ("n:i", "int64")}).to_pandas()
        rows = [r for r in self.t.scan() if r.family("n")]
        self.assertEqual(len(frame), len(rows))
        self.assertEqual(frame["i"].tolist(), [
            struct.unpack(">q", r["n:i"])[0] for r in rows])

    @unittest.skipUnless(polars, "SKIPPED: polars is not installed")
    def test_polars(self):
        self.fill(100)
        frame = self.t.scan_arrow({"f": ("n:f", "float64")}).to_polars()
        self.assertEqual(frame.height, sum("n:f" in r for r in self.t))


if __name__ == "__main__":
    unittest.main()

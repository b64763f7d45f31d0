"""quarry sql --format arrow: the rows of a query as an Arrow file and as a
stream; read by pyarrow where it is, and by a reader of a few lines here."""

import os
import struct
import unittest

from harness import main
from test_sql import SqlTest

try:
    import pyarrow.ipc
except ImportError:
    pyarrow = None

# A value of every type that DuckDB has and Arrow, too; nested, and NULL.
TYPES = """
SELECT true AS b, 1::UTINYINT AS u8, (-1)::TINYINT AS i8, 2::SMALLINT AS i16,
    2::USMALLINT AS u16, 3 AS i32, 3::UINTEGER AS u32, i::BIGINT AS i64,
    4::UBIGINT AS u64, (-5)::HUGEINT AS h, 1.50::DECIMAL(9, 2) AS d,
    0.1::DOUBLE AS g, 0.5::FLOAT AS f, DATE '2024-02-29' AS dt,
    TIME '12:00:01.5' AS tm, TIMESTAMP '2024-02-29 01:02:03' AS ts,
    TIMESTAMP_S '2024-02-29 01:02:03' AS tss, INTERVAL 3 DAYS AS iv,
    '5b1d8a2f-0c1e-4f4b-9d0a-0f1e2d3c4b5a'::UUID AS uu,
    CASE WHEN i < 3 THEN 'b' END::ENUM('a', 'b') AS en,
    [1, NULL, i] AS l, ['y'::ENUM('x', 'y')] AS le,
    {'a': i, 'b': [2]} AS st, MAP {'a': i} AS m, union_value(n := i) AS un,
    array_value(1, i) AS arr, NULL AS nul, 'a\\x00'::BLOB AS bl,
    CASE WHEN i % 2 = 0 THEN 'text' || i END AS t
FROM range(5000) r(i)"""


class Table:
    """A table of FlatBuffers at @at of @data."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.about = at - self.number("<i", at)

    def number(self, form, at):
        return struct.unpack_from(form, self.data, at)[0]

    def place(self, i):
        if 4 + 2 * i >= self.number("<H", self.about):
            return 0
        within = self.number("<H", self.about + 4 + 2 * i)
        return self.at + within if within else 0

    def get(self, i, form):
        return self.number(form, self.place(i)) if self.place(i) else 0

    def to(self, i):
        return self.place(i) + self.number("<I", self.place(i))

    def table(self, i):
        return Table(self.data, self.to(i))

    def text(self, i):
        at = self.to(i)
        return self.data[at + 4:at + 4 + self.number("<I", at)].decode()

    def tables(self, i):
        at = self.to(i)
        for k in range(self.number("<I", at)):
            each = at + 4 + 4 * k
            yield Table(self.data, each + self.number("<I", each))

    def pairs(self, i):
        at = self.to(i)
        return [struct.unpack_from("<qq", self.data, at + 4 + 16 * k)
                for k in range(self.number("<I", at))]


def messages(data, at):
    """The kind of each message, its header and where its body begins."""
    while True:
        mark, size = struct.unpack_from("<II", data, at)
        assert mark == 0xffffffff and at % 8 == 0 and size % 8 == 0
        if size == 0:
            return
        message = Table(data, at + 8 + struct.unpack_from("<I", data, at + 8)[0])
        yield message.get(1, "<B"), message.table(2), at + 8 + size
        at += 8 + size + message.get(3, "<q")


class ArrowTest(SqlTest):
    def result(self, query, form="arrow"):
        """The bytes of a result; on standard output they are the same."""
        path = self.path("r." + form)
        self.sql(query, options=["--format", form, "--output", path])
        with open(path, "rb") as f:
            data = f.read()
        done = self.run_quarry("sql", "-c", query, "--format", form)
        self.assertEqual(done.stdout, data)
        return data


class Arrow(ArrowTest):
    def test_bytes(self):
        """Parts, lengths, buffers and the list at the end, as the format has
        them; a stream is the file without its frame."""
        query = ("SELECT i AS n, CASE WHEN i % 2 = 0 THEN 'x' || i END AS t "
                 "FROM range(5000) r(i) ORDER BY i")
        data = self.result(query)
        stream = self.result(query, "arrows")
        self.assertEqual((data[:8], data[-6:]), (b"ARROW1\0\0", b"ARROW1"))
        self.assertEqual(data[8:8 + len(stream)], stream)
        parts = list(messages(data, 8))
        self.assertEqual({kind for kind, _, _ in parts[1:]}, {3})
        fields = list(parts[0][1].tables(1))
        self.assertEqual([f.text(0) for f in fields], ["n", "t"])
        self.assertEqual([f.get(2, "<B") for f in fields], [2, 5])
        numbers, texts = [], []
        for _, batch, body in parts[1:]:
            count = batch.get(0, "<q")
            self.assertEqual([n for n, _ in batch.pairs(1)], [count, count])
            places = batch.pairs(2)
            self.assertTrue(all(at % 64 == 0 for at, _ in places))
            def part(i):
                return data[body + places[i][0]:body + sum(places[i])]
            numbers += struct.unpack("<%dq" % count, part(1))
            ends = struct.unpack("<%di" % (count + 1), part(3))
            texts += [part(4)[a:b].decode() if part(2)[k // 8] >> k % 8 & 1
                      else None for k, (a, b) in enumerate(zip(ends, ends[1:]))]
        self.assertEqual(numbers, list(range(5000)))
        self.assertEqual(texts, [None if i % 2 else "x%d" % i
                                 for i in range(5000)])
        size = struct.unpack("<I", data[-10:-6])[0]
        at = len(data) - 10 - size
        footer = Table(data, at + struct.unpack_from("<I", data, at)[0])
        place = footer.to(3)
        self.assertEqual(footer.number("<I", place), len(parts) - 1)
        self.assertEqual(footer.number("<q", place + 4), parts[0][2])

    def test_refused(self):
        """One query a file; nothing is left of one that fails."""
        for form in ("arrow", "arrows"):
            options = ["--format", form, "--output", "x"]
            self.assertIn("of one query", self.fails(
                1, "sql", "-c", "SELECT 1", "-c", "SELECT 2", *options))
            os.remove(self.path("x"))
            self.assertIn("too far", self.fails(
                1, "sql", "-c", "SELECT CASE WHEN i < 9000 THEN i ELSE "
                "error('too far') END FROM range(10000) r(i)", *options))
            self.assertFalse(os.path.exists(self.path("x")))
            self.ok("sql", "-c", "CREATE TABLE t (i INT)", *options)
            self.assertFalse(os.path.exists(self.path("x")))

    def test_google(self):
        """Queries in GoogleSQL, too."""
        self.web()
        data = self.result("SELECT 1")
        self.ok("sql", "--dialect", "google", "-c", "SELECT 1 AS one",
                "--format", "arrow", "-o", "g.arrow")
        with open(self.path("g.arrow"), "rb") as f:
            self.assertEqual(f.read(6), data[:6])


@unittest.skipIf(pyarrow is None, "SKIPPED: pyarrow is not here")
class PyArrow(ArrowTest):
    """The rows that pyarrow reads are those of JSON."""

    def read(self, query):
        file = pyarrow.ipc.open_file(self.result(query)).read_all()
        stream = pyarrow.ipc.open_stream(
            self.result(query, "arrows")).read_all()
        file.validate(full=True)
        self.assertTrue(stream.equals(file))
        return file

    def test_tables(self):
        self.web()
        for table in ("web", "quarry_cells('web')"):
            got = self.read("FROM %s ORDER BY ALL" % table).to_pylist()
            want = self.rows("FROM %s ORDER BY ALL" % table)
            self.assertEqual(len(got), len(want))
            self.assertEqual([r["key"] for r in got], [r[0] for r in want])
        self.assertEqual(self.read("SELECT stats FROM web WHERE key = 'com.b'")
                         .to_pylist(), [{"stats": [("n", b"7")]}])

    def test_types(self):
        table = self.read(TYPES)
        self.assertEqual(table.num_rows, 5000)
        rows = table.slice(2, 2).to_pylist()
        self.assertEqual([r["en"] for r in rows], ["b", None])
        self.assertEqual([r["t"] for r in rows], ["text2", None])
        self.assertEqual(rows[1]["l"], [1, None, 3])
        self.assertEqual(rows[1]["st"], {"a": 3, "b": [2]})
        self.assertEqual(rows[1]["m"], [("a", 3)])
        self.assertEqual(rows[1]["le"], ["y"])
        self.assertEqual(rows[0]["bl"], b"a\0")
        self.assertEqual((str(rows[0]["h"]), str(rows[0]["d"])), ("-5", "1.50"))
        self.assertEqual(self.read("SELECT * FROM (%s) WHERE i64 < 0" % TYPES)
                         .num_rows, 0)


if __name__ == "__main__":
    if pyarrow is None:
        print("SKIPPED: cli/arrow: pyarrow is not here: its checks are left "
              "out", flush=True)
    main()

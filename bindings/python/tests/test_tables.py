"""Tables: every method against a model of dicts, and what goes wrong."""

import datetime
import gc
import os
import random
import struct
import tempfile
import threading
import unittest

import quarry
from quarry import filters as f


class TableTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.db = quarry.open(os.path.join(self.dir.name, "db"))
        self.t = self.db.create_table("t", {"a": "versions=3", "b": "",
                                            "n": ""})

    def tearDown(self):
        self.db.close()
        self.dir.cleanup()


class ReadAndWrite(TableTest):
    def test_model(self):
        """Random changes; rows, scans and batches agree with a dict."""
        rand = random.Random(7)
        model = {}
        for _ in range(400):
            key = b"r%02d" % rand.randrange(40)
            column = rand.choice([b"a:x", b"a:", b"b:y\x00z", "b:ä".encode()])
            if rand.random() < 0.7:
                value = bytes(rand.randrange(256)
                              for _ in range(rand.randrange(20)))
                self.t.put(key, {column: value}, durability="logged")
                model.setdefault(key, {})[column] = value
            elif rand.random() < 0.5:
                self.t.delete(key, column)
                model.get(key, {}).pop(column, None)
            else:
                self.t.delete(key)
                model.pop(key, None)
        model = {k: v for k, v in model.items() if v}
        scanned = {r.key: {c.column: r[c.column] for c in r}
                   for r in self.t.scan()}
        self.assertEqual(scanned, model)
        self.assertEqual(list(scanned), sorted(scanned))
        keys = [b"r%02d" % i for i in range(40)]
        for key, row in zip(keys, self.t.rows(keys)):
            self.assertEqual(row is not None, key in model)
            self.assertEqual(row, self.t.row(key))

    def test_versions_and_times(self):
        at = datetime.datetime(2026, 5, 1, tzinfo=datetime.timezone.utc)
        self.t.put("r", {"a:x": "1"}, timestamp=at)
        self.t.put("r", {"a:x": "2"}, timestamp=at.replace(year=2027))
        row = self.t.row("r")
        self.assertEqual([c.value for c in row.versions("a:x")], [b"2", b"1"])
        self.assertEqual(row.versions("a:x")[1].time, at)
        self.assertEqual(self.t.row("r", versions=1).cells[0].value, b"2")
        self.assertEqual(self.t.row("r", until=at.replace(month=6))["a:x"],
                         b"1")
        self.t.delete("r", "a:x", since=at.replace(month=6))
        self.assertEqual(self.t.get("r", "a:x"), b"1")

    def test_as_of_a_time(self):
        """Of a table without changes: the cells up to the time."""
        self.t.put(b"r", {"b:x": b"old"}, timestamp=1000)
        self.t.put(b"r", {"b:x": b"new"}, timestamp=2000)
        self.assertEqual(self.t.row(b"r", as_of=1500)["b:x"], b"old")
        self.assertEqual([r["b:x"] for r in self.t.scan(as_of=2000)], [b"new"])
        self.assertIsNone(self.t.row(b"r", as_of=999))
        with self.assertRaises(quarry.Error):
            self.t.row(b"r", as_of=-1)

    def test_delete_needs_a_range_that_has_times(self):
        with self.assertRaises(ValueError):
            self.t.delete("r", "a:x", since=5, until=5)
        with self.assertRaises(TypeError):
            self.t.delete("r", family="a", since=5)

    def test_counters_and_appending(self):
        self.assertEqual(self.t.increment("r", "n:c", 2**40), 2**40)
        self.assertEqual(self.t.increment("r", "n:c", -1), 2**40 - 1)
        self.assertEqual(struct.unpack(">q", self.t.get("r", "n:c"))[0],
                         2**40 - 1)
        self.assertEqual(self.t.append("r", "a:x", "ab"), b"ab")
        self.assertEqual(self.t.append("r", "a:x", b"\x00"), b"ab\x00")
        with self.assertRaises(quarry.InvalidError):
            self.t.increment("r", "a:x")

    def test_check_and_mutate(self):
        put = quarry.Mutation().put("b:y", "1")
        other = quarry.Mutation().put("b:y", "0")
        self.assertFalse(self.t.check_and_mutate("r", None, put, other))
        self.assertEqual(self.t.get("r", "b:y"), b"0")
        self.assertTrue(self.t.check_and_mutate("r", f.value_regex("0"), put))
        self.assertEqual(self.t.get("r", "b:y"), b"1")

    def test_batch_tells_which_rows_failed(self):
        with self.assertRaises(quarry.NotFoundError) as e:
            with self.t.batch() as b:
                b.put("r1", {"a:x": "1"})
                b.put("r2", {"missing:x": "1"})
                b.put("r3", {"a:x": "1"})
        self.assertEqual(e.exception.failed, [(1, "not found")])
        self.assertEqual([r.key for r in self.t.scan()], [b"r1", b"r3"])

    def test_a_batch_that_raises_sends_nothing_more(self):
        with self.assertRaises(RuntimeError):
            with self.t.batch() as b:
                b.put("r1", {"a:x": "1"})
                raise RuntimeError
        self.assertEqual(list(self.t), [])


class Scans(TableTest):
    def setUp(self):
        super().setUp()
        with self.t.batch() as b:
            for i in range(3000):
                b.put("r%04d" % i, {"a:x": str(i), "b:%d" % (i % 7): "v"})

    def keys(self, **options):
        return [int(r.key[1:]) for r in self.t.scan(**options)]

    def test_which_rows(self):
        self.assertEqual(self.keys(), list(range(3000)))
        self.assertEqual(self.keys(prefix="r12"), list(range(1200, 1300)))
        self.assertEqual(self.keys(start="r2998"), [2998, 2999])
        self.assertEqual(self.keys(end="r0002"), [0, 1])
        self.assertEqual(self.keys(ranges=[("r0001", "r0003"), ("r0002",
                                                              "r0004")]),
                         [1, 2, 3])
        self.assertEqual(self.keys(keys=["r0009", "r0001", "nothing"]), [1, 9])
        self.assertEqual(self.keys(keys=[]), [])
        self.assertEqual(self.keys(limit=5), list(range(5)))
        self.assertEqual(self.keys(reversed=True), self.keys()[::-1])
        self.assertEqual(self.keys(reversed=True, limit=2), self.keys()[:-3:-1])

    def test_filters(self):
        def cells(x):
            return [c for r in self.t.scan(filter=x, limit=3) for c in r]
        self.assertTrue(all(c.family == "b" for c in cells(f.family("b"))))
        self.assertEqual(cells(f.block_all()), [])
        self.assertEqual(len(cells(f.pass_all())), 6)
        self.assertEqual({c.value for c in cells(f.strip_value())}, {b""})
        self.assertEqual([c.label for c in cells(f.family("a") &
                                                 f.label("l"))], [b"l"] * 3)
        self.assertEqual(
            [c.qualifier for c in cells(f.column_range("b", "0", "2"))],
            [b"0", b"1"] + [b"0"])
        both = cells(f.family("a") | f.family("b"))
        self.assertEqual(len(both), 6)
        chosen = cells(f.condition(f.value_regex("1"), f.family("b"),
                                   f.family("a")))
        self.assertEqual([c.family for c in chosen], ["a", "b", "a"])
        for wrong in (("nothing",), ("chain", 5), ("latest",), 5, ()):
            with self.assertRaises((TypeError, ValueError)):
                self.t.scan(filter=wrong)
        deep = f.pass_all()
        for _ in range(40):
            deep = f.chain(deep, f.pass_all())
        with self.assertRaises(ValueError):
            self.t.scan(filter=deep)

    def test_bad_arguments(self):
        for options in ({"families": "a"}, {"versions": -1},
                        {"limit": "x"}, {"ranges": [("a",)]},
                        {"keys": [5.5]}):
            with self.assertRaises((TypeError, ValueError)):
                list(self.t.scan(**options))
        with self.assertRaises(TypeError):
            self.t.scan(nonsense=1)
        with self.assertRaises(quarry.NotFoundError):
            list(self.t.scan(families=["missing"]))
        with self.assertRaises(ValueError):
            self.t.get("r", "no colon")

    def test_threads(self):
        """Calls of many threads; a scan is one thread's."""
        sums, failed = [], []

        def read():
            try:
                sums.append(sum(int(r["a:x"]) for r in self.t.scan()))
            except Exception as e:  # The test reports it.
                failed.append(e)
        threads = [threading.Thread(target=read) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])
        self.assertEqual(sums, [sum(range(3000))] * 8)

    def test_sawzall(self):
        out = self.t.saw("""
            rows: table sum of int;
            longest: table maximum(2)[key: string] of int weight w: int;
            r: Row = input;
            emit rows <- 1;
            emit longest["k"] <- 1 weight 1;
        """)
        self.assertEqual(out["rows"].rows, [(3000,)])
        self.assertEqual(self.t.saw("n: table sum of int; r: Row = input;"
                                    "emit n <- 1;", prefix="r00")["n"].rows,
                         [(100,)])
        with self.assertRaises(quarry.InvalidError) as e:
            self.t.saw("emit;", name="mine.szl")
        self.assertIn("mine.szl:1", str(e.exception))
        kept = self.t.scan(program='r: Row = input; if (string(r.key) == "r0007")'
                                   ' emit keep <- r;')
        self.assertEqual([r.key for r in kept], [b"r0007"])


class Stores(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.dir.name, "db")

    def tearDown(self):
        self.dir.cleanup()

    def test_tables_and_snapshots(self):
        with quarry.open(self.path) as db:
            t = db.create_table("t", ["f", "g"],
                                groups={"cold": "compression=zstd"})
            t.put("r", {"f:x": "1"})
            db.alter_table("t", ("add_family", "h", "versions=2"),
                           ("drop_family", "g"))
            about = db.describe("t")
            self.assertEqual([x["name"] for x in about["families"]],
                             ["f", "h"])
            db.snapshot("t", "before")
            t.delete("r")
            db.flush()
            again = db.restore("before", "t2")
            self.assertEqual(again.get("r", "f:x"), b"1")
            self.assertEqual(db.clone("t2", "t3").get("r", "f:x"), b"1")
            self.assertEqual([s["name"] for s in db.snapshots()], ["before"])
            db.drop_snapshot("before")
            db.split("t2", "q")
            self.assertEqual(len(db.describe("t2")["tablets"]), 2)
            db.drop_rows("t2", prefix="r")
            self.assertEqual(list(again), [])
            db.compact("t2")
            db.drop_table("t3")
            self.assertEqual(db.tables(), ["t", "t2"])
            self.assertIn("t2", db)
            self.assertIn("log_bytes", db.counters())
            with self.assertRaises(quarry.ExistsError):
                db.create_table("t", ["f"])
            with self.assertRaises(LookupError):
                db.table("missing")

    def test_one_writer(self):
        with quarry.open(self.path) as db:
            db.create_table("t", ["f"]).put("r", {"f:": "1"})
            with self.assertRaises(quarry.BusyError):
                quarry.open(self.path)
            with quarry.open(self.path, read_only=True) as reader:
                self.assertEqual(reader["t"].get("r", "f:"), b"1")
                with self.assertRaises(PermissionError):
                    reader["t"].put("r", {"f:": "2"})

    def test_closing(self):
        """In any order, twice, and by nobody."""
        db = quarry.open(self.path)
        t = db.create_table("t", ["f"])
        t.put("r", {"f:": "1"})
        scan = t.scan()
        db.close()
        db.close()
        t.close()
        self.assertEqual(list(scan), [])
        for call in (lambda: t.get("r", "f:"), db.tables, t.scan):
            with self.assertRaises(quarry.ClosedError):
                call()
        db = quarry.open(self.path)
        scan = db.table("t").scan()
        del db
        gc.collect()
        self.assertEqual([r.key for r in scan], [b"r"])
        del scan
        gc.collect()
        quarry.open(self.path).close()

    def test_fork(self):
        """A child does not touch the parent's store."""
        with quarry.open(self.path) as db:
            t = db.create_table("t", ["f"])
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    t.get("r", "f:")
                except quarry.InvalidError:
                    status = 0
                os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            t.put("r", {"f:": "1"})

    def test_bad_options(self):
        with self.assertRaises(TypeError):
            quarry.open(self.path, nonsense=1)
        with self.assertRaises(quarry.NotFoundError):
            quarry.open(self.path, must_exist=True)
        with self.assertRaises(quarry.NotFoundError):
            quarry.open("cluster:" + self.dir.name)


if __name__ == "__main__":
    unittest.main()

"""Transactions from Python: committed, rolled back, in conflict, run again."""

import os
import shutil
import tempfile
import unittest

import quarry


class TransactionsTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.db = quarry.open("file:" + os.path.join(self.dir, "d"))
        self.addCleanup(self.db.close)
        self.table = self.db.create_table("t", {"f": "versions=1"})
        self.db.enable_transactions("t")

    def test_commit(self):
        """Writes are seen at the end of the block, and not before."""
        with self.db.transaction() as t:
            t.put(self.table, "a", {"f:x": "1", "f:y": "2"})
            self.assertEqual(t.get(self.table, "a", "f:x"), b"1")
            self.assertIsNone(self.table.get("a", "f:x"))
        self.assertEqual(self.table.get("a", "f:y"), b"2")
        with self.db.transaction() as t:
            t.delete(self.table, "a", "f:x")
            self.assertEqual([c.qualifier for c in
                              t.row(self.table, "a").cells], [b"y"])
            t.delete(self.table, "a")
            self.assertIsNone(t.row(self.table, "a"))
            self.assertEqual(t.commit() > 0, True)
        self.assertIsNone(self.table.row("a"))

    def test_exception(self):
        """After an exception nothing is done."""
        with self.assertRaises(KeyError):
            with self.db.transaction() as t:
                t.put(self.table, "a", {"f:x": "1"})
                raise KeyError
        self.assertIsNone(self.table.get("a", "f:x"))

    def test_conflict(self):
        """The second of two fails; run again it succeeds."""
        a, b = self.db.transaction(), self.db.transaction()
        for t in a, b:
            t.put(self.table, "a", {"f:x": "1"})
        a.commit()
        with self.assertRaises(quarry.ConflictError):
            b.commit()
        with self.assertRaises(quarry.ClosedError):
            b.commit()
        a.rollback()
        b.rollback()
        tries = []

        def add(t):
            tries.append(t)
            value = int(t.get(self.table, "a", "f:x"))
            if len(tries) == 1:
                with self.db.transaction() as other:
                    other.put(self.table, "a", {"f:x": "10"})
            t.put(self.table, "a", {"f:x": str(value + 1)})
            return value
        self.assertEqual(self.db.run_transaction(add), 10)
        self.assertEqual(self.table.get("a", "f:x"), b"11")

    def test_scan(self):
        """Rows in order, more than one page of them, as of the start."""
        with self.db.transaction() as t:
            for i in range(600):
                t.put(self.table, "%04d" % i, {"f:x": str(i)})
        with self.db.transaction(read_only=True) as t:
            self.table.put("9999", {"f:x": "later"})
            self.assertEqual([int(r.key) for r in t.scan(self.table)],
                             list(range(600)))
            self.assertEqual([r.key for r in t.scan(self.table, "0002",
                                                    "0004")],
                             [b"0002", b"0003"])
            with self.assertRaises(quarry.DeniedError):
                t.put(self.table, "a", {"f:x": "1"})

    def test_open_tables(self):
        """A table stays open as long as the transaction; others are refused."""
        t = self.db.transaction()
        t.put(self.table, "a", {"f:x": "1"})
        with self.assertRaises(quarry.BusyError):
            self.table.close()
        plain = self.db.create_table("plain", ["f"])
        with self.assertRaises(quarry.UnsupportedError):
            t.put(plain, "a", {"f:x": "1"})
        with self.assertRaises(TypeError):
            t._txn.get("no table", b"a", b"f", b"x")
        t.rollback()
        with self.assertRaises(quarry.ClosedError):
            t.get(self.table, "a", "f:x")


if __name__ == "__main__":
    unittest.main()

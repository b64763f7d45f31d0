"""Snapshots, clones, bulk loads, moves and copies of the tables of a cluster of
real processes, some of which are killed meanwhile."""
import json
import os

from processes import ClusterTest, main

TARGET = "cluster:quarry-cluster"


class Keeping(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def serve(self, count, settings=""):
        """A cluster whose master is ready."""
        cluster = self.loopback(count, settings=settings)
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in cluster.status()))
        return cluster

    def master(self, cluster):
        return next((row["node"] for row in cluster.status()
                     if "master=yes" in row["detail"]), None)

    def active_master(self, cluster):
        """The node of the master, once it answers: it may be slow to."""
        return self.wait_for(lambda: self.master(cluster))

    def rows(self, table):
        return [row["row"] for row in self.json("scan", table)]

    def load_file(self, name, rows):
        with open(self.path(name), "w") as f:
            for row in rows:
                f.write("%s\tf:q\t1\t%s\n" % (row, row))
        return name

    def test_rights_go_along(self):
        """A table made of a closed one is as closed, also where names are not
        proved: by a clone, and of a snapshot whose table is no more."""
        self.serve(1)
        self.env["USER"] = "ann"
        self.ok("table", "create", "t", "--family", "f")
        self.ok("put", "t", "row", "f:q=1")
        self.ok("acl", "grant", "t", "read", "bob")
        self.ok("table", "snapshot", "t", "kept")
        self.env["USER"] = "bob"
        self.ok("table", "clone", "t", "twin")
        self.ok("put", "twin", "row", "f:q=2")
        self.env["USER"] = "ann"
        self.ok("table", "drop", "t")
        self.ok("snapshot", "restore", "kept", "again")
        for table in ("twin", "again"):
            with self.subTest(table=table):
                self.env["USER"] = "bob"
                self.ok("get", table, "row")
                self.env["USER"] = "eve"
                self.assertIn("may not read", self.fails(1, "get", table, "row"))
        self.env["USER"] = "bob"
        self.assertIn("may not write",
                      self.fails(1, "put", "again", "row", "f:q=2"))

    def test_kept_and_loaded(self):
        """A snapshot comes back although its table changes, is dropped, and
        the master dies; a load is taken once."""
        cluster = self.serve(3)
        self.ok("table", "create", "t", "--family", "f")
        old = ["r%03d" % n for n in range(0, 100, 2)]
        self.ok("load", "t", self.load_file("old.tsv", old), "--id", "first")
        for row in ("r020", "r050", "r070"):
            self.ok("table", "split", "t", row)
        self.ok("table", "snapshot", "t", "kept")
        both = ["r%03d" % n for n in range(100)]
        new = self.load_file("new.tsv", both[1::2])
        self.ok("load", "t", new, "--id", "second")
        self.ok("delete", "t", "r011")
        self.ok("load", "t", new, "--id", "second")
        both.remove("r011")
        self.assertEqual(self.rows("t"), both)
        self.ok("table", "clone", "t", "twin")
        self.ok("table", "drop", "t")
        self.assertEqual(self.rows("twin"), both)
        cluster.kill(self.active_master(cluster))
        self.ok("snapshot", "restore", "kept", "t")
        self.assertEqual(self.rows("t"), old)
        listed = self.json("snapshot", "list")
        self.assertEqual([s["snapshot"] for s in listed], ["kept"])
        self.ok("snapshot", "drop", "kept")
        self.assertEqual(self.json("snapshot", "list"), [])
        self.assertEqual(self.rows("t"), old)

    def test_moved_by_hand(self):
        """A tablet goes to the server that is named, with all of its rows, and
        it is told for how long they were not served."""
        cluster = self.serve(3)
        self.ok("table", "create", "t", "--family", "f")
        rows = ["r%03d" % n for n in range(50)]
        self.ok("load", "t", self.load_file("rows.tsv", rows))
        addresses = {row["address"] for row in cluster.status()}
        said = [self.ok("table", "move", "t", "r001", a)
                for a in sorted(addresses)]
        self.assertTrue(any("were not served for" in text for text in said),
                        said)
        self.assertEqual(self.rows("t"), rows)

    def test_loaded_records(self):
        """A job's records, in the order of rows, are loaded into a
        column; rows that do not ascend, and files without records, are refused
        and nothing of them is there."""
        self.serve(3)
        self.ok("table", "create", "t", "--family", "f")
        rows = ["w%03d" % n for n in range(300)]
        self.write("words", "\n".join(reversed(rows)) + "\n")
        self.ok("job", "run", "word_count", "--input", "file:words", "--output",
                "records:out", "--reducers", "1", "-t", "file:" +
                self.path("jobs"))
        parts = sorted(n for n in os.listdir(self.path("out"))
                       if n.startswith("part-"))
        files = [os.path.join("out", p) for p in parts]
        self.ok("load", "t", *files, "--records", "f:count", "--id", "counts")
        self.ok("load", "t", *files, "--records", "f:count", "--id", "counts")
        self.assertEqual(self.rows("t"), rows)
        self.assertIn("f:count", self.ok("get", "t", "w007"))
        self.fails(1, "load", "t", *files, *files, "--records", "f:again")
        self.fails(1, "load", "t", "words", "--records", "f:words")
        self.fails(2, "load", "t", *files, "--records", "f")
        self.assertNotIn("again", self.ok("get", "t", "w007"))

    def copies(self):
        """The numbers of copies that SSTables of users should have."""
        found = []
        for entry in self.json("fs", "ls", "/bigtable/tables"):
            done = self.run_quarry(
                "fs", "stat", "/bigtable/tables/" +
                os.path.basename(entry["path"]), "--format", "json")
            # One that nobody needs may be removed meanwhile.
            facts = {r["name"]: r["value"] for r in
                     map(json.loads, done.stdout.splitlines())}
            found += [facts["copies"]] if done.returncode == 0 else []
        return found

    def test_copies(self):
        """A table's present files and its new ones get as many copies as it is
        altered to have, and its rows are read meanwhile and without one of the
        machines."""
        cluster = self.serve(3, "[master]\nreread = 1s\n")
        self.ok("table", "create", "t", "--family", "f")
        rows = ["r%03d" % n for n in range(50)]
        self.ok("load", "t", self.load_file("rows.tsv", rows[::2]))
        self.assertEqual(set(self.copies()), {"3"})
        self.ok("table", "alter", "t", "--replication", "2")
        self.wait_for(lambda: "2" in self.copies())
        self.ok("load", "t", self.load_file("more.tsv", rows[1::2]))
        self.ok("put", "t", rows[0], "f:q=" + rows[0])
        self.ok("table", "compact", "t")
        self.wait_for(lambda: self.copies().count("2") >= 2)
        self.assertEqual(self.rows("t"), rows)
        cluster.kill("n2")
        self.assertEqual(self.rows("t"), rows)


if __name__ == "__main__":
    main()

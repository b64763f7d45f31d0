"""Streams between directories, by the command line: copied, continued at their
place, both ways, in part, compared and mended; and refused where they cannot
work."""

from harness import CliTest, main


class Replication(CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("two directories are enough here")

    def at(self, store, *args):
        return self.ok("-t", "file:" + store, *args)

    def create(self, store, *families):
        self.at(store, "table", "create", "t", "--changes", "1d",
                *(word for f in families for word in ("--family", f)))

    def send(self, from_, to, *args):
        return self.at(from_, "replication", "send", "t", "--to",
                       "file:" + to, *args)

    def cells(self, store, table="t"):
        return self.at(store, "scan", table, "--format", "csv")

    def verify(self, status, *args):
        return self.run_quarry("-t", "file:a", "replication", "verify", "t",
                               "--to", "file:b", *args)

    def two(self):
        self.create("a", "f", "g")
        for i in range(20):
            self.at("a", "put", "t", "r%02d" % i, "f:v=%d" % i, "g:w=x")
        self.at("b", "table", "create", "other", "--family", "f")

    def test_one_way(self):
        """A copy, then changes from the place on; deletions too."""
        self.two()
        self.send("a", "b", "--create", "--place", "place")
        self.assertEqual(self.cells("a"), self.cells("b"))
        self.at("a", "put", "t", "r01", "f:v=newer")
        self.at("a", "delete", "t", "r02")
        self.at("a", "delete", "t", "r03", "g:w")
        self.assertNotEqual(self.cells("a"), self.cells("b"))
        self.send("a", "b", "--place", "place")
        self.assertEqual(self.cells("a"), self.cells("b"))
        told = [c for c in self.at("b", "changes", "t").splitlines()]
        self.assertTrue(all('"origin"' in c for c in told))

    def test_both_ways(self):
        """Writes at both ends meet: the later one stays, wherever it was."""
        self.two()
        self.send("a", "b", "--create", "--place", "ab")
        self.send("b", "a", "--no-copy", "--place", "ba")
        stamp = "2020-01-01T00:00:00Z"
        self.at("a", "put", "t", "r00", "f:v=first", "--time", stamp)
        self.at("b", "put", "t", "r00", "f:v=second", "--time", stamp)
        self.at("b", "delete", "t", "r05")
        self.at("a", "put", "t", "r05", "f:v=again")
        self.at("a", "put", "t", "r06", "f:late=1")
        self.at("b", "delete", "t", "r06")
        for _ in range(2):
            self.send("a", "b", "--place", "ab")
            self.send("b", "a", "--place", "ba")
        self.assertEqual(self.cells("a"), self.cells("b"))
        self.assertIn("second", self.cells("a"))
        self.assertNotIn("first", self.cells("a"))
        self.assertIn("again", self.cells("a"))
        self.assertNotIn("r06", self.cells("a"))
        said = self.run_quarry("-t", "file:a", "replication", "send", "t",
                               "--to", "file:b", "--place", "ab")
        self.assertIn(b" 0 bytes sent", said.stderr)

    def test_part(self):
        """Families by other names, rows and columns that are chosen."""
        self.two()
        self.at("b", "table", "create", "t", "--family", "called")
        self.send("a", "b", "--family", "f=called", "--prefix", "r0",
                  "--place", "place")
        self.assertEqual(self.cells("b").count("called"), 10)
        self.at("a", "delete", "t", "r04")
        self.at("a", "delete", "t", "r14")
        self.send("a", "b", "--family", "f=called", "--prefix", "r0",
                  "--place", "place", "--qualifiers", "v")
        self.assertEqual(self.cells("b").count("called"), 9)
        self.assertNotIn("x", self.cells("b"))
        self.assertNotIn("r1", self.cells("b").replace("r01", ""))

    def test_verify(self):
        """Differences are named, and mended as this end has it."""
        self.two()
        self.send("a", "b", "--create")
        self.assertEqual(self.verify(0).returncode, 0)
        self.at("b", "put", "t", "extra", "f:v=1")
        self.at("b", "delete", "t", "r07")
        said = self.verify(1)
        self.assertEqual(said.returncode, 1)
        lines = said.stdout.decode().splitlines()
        self.assertEqual(lines, [
            '{"row": "extra", "missing": 0, "extra": 1, "unequal": 0}',
            '{"row": "r07", "missing": 2, "extra": 0, "unequal": 0}'])
        self.assertEqual(self.verify(0, "--repair").returncode, 0)
        self.assertEqual(self.verify(0).returncode, 0)
        self.assertEqual(self.cells("a"), self.cells("b"))

    def test_stream(self):
        """A stream that was created is run until it has caught up; it is listed,
        paused and dropped."""
        self.two()
        self.at("a", "replication", "create", "west", "t", "--to", "file:b",
                "--create")
        run = "follow", "run", "replication/west", "--until-caught-up"
        self.at("a", *run)
        self.assertEqual(self.cells("a"), self.cells("b"))
        self.at("a", "put", "t", "r01", "f:v=newer")
        self.at("a", "delete", "t", "r02")
        self.at("a", *run)
        self.assertEqual(self.cells("a"), self.cells("b"))
        self.assertIn("west", self.at("a", "replication", "list"))
        self.at("a", "replication", "pause", "west")
        self.assertIn("paused", self.at("a", "replication", "list"))
        self.at("a", "replication", "resume", "west")
        self.at("a", "put", "t", "r03", "f:v=last")
        self.at("a", *run)
        self.assertEqual(self.cells("a"), self.cells("b"))
        self.assertIn("already", self.fails(
            1, "-t", "file:a", "replication", "create", "west", "t", "--to",
            "file:b"))
        self.at("a", "replication", "drop", "west")
        self.assertNotIn("west", self.at("a", "replication", "list"))

    def test_refused(self):
        """Streams that cannot work say why."""
        self.two()
        target = ["-t", "file:a", "replication", "send", "t"]
        self.fails(2, *target)
        self.fails(2, *target, "--to", "file:b", "--prefix", "a", "--start",
                   "b")
        self.assertIn("no table", self.fails(1, *target, "--to", "file:b"))
        self.assertIn("no store", self.fails(1, *target, "--to", "file:c"))
        self.assertIn("same site", self.fails(1, *target, "--to-table", "t"))
        self.at("a", "table", "create", "plain", "--family", "f")
        self.at("b", "table", "create", "plain", "--family", "f")
        self.assertIn("keeps no changes", self.fails(
            1, "-t", "file:a", "replication", "send", "plain", "--to",
            "file:b"))
        self.send("a", "b", "--create")
        self.assertIn("no column family", self.fails(
            1, *target, "--to", "file:b", "--family", "f=q"))
        self.assertIn("regular expression", self.fails(
            1, *target, "--to", "file:b", "--qualifiers", "("))
        self.write("bad", "changes nonsense")
        self.assertIn("no place", self.fails(
            1, *target, "--to", "file:b", "--place", "bad"))


if __name__ == "__main__":
    main()

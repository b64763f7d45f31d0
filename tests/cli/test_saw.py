"""saw: programs over files, over tables, and their errors."""

from harness import CliTest, main


class Saw(CliTest):
    def test_over_files(self):
        """Once for each line of all files; the tables are printed."""
        self.write("a", "3\n5\n")
        self.write("b", "7\n")
        program = ("x: int = int(string(input)); n: table sum of int; "
                   "total: table sum of int; emit n <- 1; emit total <- x;")
        self.assertEqual(self.ok("saw", "-e", program, "a", "b"),
                         "n[] = 3\ntotal[] = 15\n")

    def test_formats(self):
        """Results as CSV and JSON have the tables' columns."""
        self.write("a", "x\ny\nx\n")
        program = ("t: table sum[word: string] of int; "
                   "emit t[string(input)] <- 1;")
        rows = self.json("saw", "-e", program, "a")
        self.assertEqual([list(r.values()) for r in rows],
                         [["t", "x", 2], ["t", "y", 1]])
        self.assertEqual(self.ok("saw", "-e", program, "a", "--format",
                                 "csv").splitlines()[1:], ["t,x,2", "t,y,1"])

    def test_aligned(self):
        """--aligned prints a sheet for each table."""
        self.write("a", "x\ny\nx\n")
        program = ("t: table sum[word: string] of n: int; "
                   "emit t[string(input)] <- 1;")
        self.assertEqual(self.ok("saw", "-a", "-e", program, "a"),
                         "t\nword  n\n────  ─\nx     2\ny     1\n")

    def test_over_table(self):
        """A program for rows runs in the engine, over the rows chosen."""
        self.table()
        for i in range(10):
            self.ok("put", "t", "r%d" % i, "f:q=%d" % i)
        program = "r: Row = input; n: table sum of int; emit n <- 1;"
        self.assertEqual(self.ok("saw", "-e", program, "--table", "t"),
                         "n[] = 10\n")
        self.assertEqual(self.ok("saw", "-e", program, "--table", "t",
                                 "--start", "r5"), "n[] = 5\n")

    def test_scan_filter(self):
        """scan --saw-text returns the rows that are emitted to keep."""
        self.table()
        for row in ("apple", "bear", "avocado"):
            self.ok("put", "t", row, "f:q=1")
        self.assertEqual(self.ok(
            "scan", "t", "--keys-only", "--saw-text",
            'r: Row = input; if (match("^a", string(r.key))) emit keep <- r;'
            ).split(), ["apple", "avocado"])

    def test_compile_error(self):
        """A mistake is shown with line, column and caret; exit 1."""
        self.write("bad.szl", "x: int = 1;\ny: int = x + \"a\";\n")
        done = self.run_quarry("saw", "bad.szl")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"bad.szl:2", done.stderr)
        self.assertIn(b"^", done.stderr)
        self.assertEqual(self.run_quarry("saw", "--check",
                                         "bad.szl").returncode, 1)

    def test_run_error_names_the_place(self):
        self.write("in", "1\n0\n")
        message = self.fails(1, "saw", "-e", "t: table sum of int;\n"
                             "x: int = int(string(input));\n"
                             "emit t <- 10 / x;", "in")
        self.assertIn("line 2", message)

    def test_wrong_use(self):
        self.table()
        self.assertIn("which program", self.fails(2, "saw"))
        self.assertIn("r: Row = input;", self.fails(
            1, "saw", "-e", "t: table sum of int; emit t <- 1;", "--table",
            "t"))
        self.assertIn("nofile.szl", self.fails(1, "saw", "nofile.szl"))

    def test_check_and_dump(self):
        self.assertEqual(self.ok("saw", "--check", "-e", "x: int = 1;"), "")
        self.assertNotEqual(self.ok("saw", "--dump", "-e", "x: int = 1;"), "")


if __name__ == "__main__":
    main()

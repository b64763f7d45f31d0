"""saw: programs over files, over tables, and their errors."""

import os
import subprocess

from harness import QUARRY, CliTest, main


class Saw(CliTest):
    def test_over_files(self):
        """Once for each line of all files; the tables are printed."""
        self.write("a", "3\n5\n")
        self.write("b", "7\n")
        program = ("x: int = int(string(input)); n: table sum of int; "
                   "total: table sum of int; emit n <- 1; emit total <- x;")
        self.assertEqual(self.ok("saw", "-e", program, "a", "b"),
                         "n[] = 3\ntotal[] = 15\n")

    def test_threads(self):
        """Any number of threads gives the same: tables, what is written, and
        the error of the first line that fails; also from a pipe."""
        text = "".join("%d %s\n" % (i, "x" * (i % 90)) for i in range(60000))
        self.write("a", text)
        self.write("b", text + "end")
        program = ("f: array of string = matchstrs(`^([0-9]+) (x*)`, "
                   "string(input)); n: table sum[len: int] of int; "
                   "c: table collection of bytes; "
                   "if (len(f) == 0) assert(false, string(input)); "
                   "if (int(f[1]) % 10000 == 0) { emit stdout <- f[1]; "
                   "emit c <- input_key; } emit n[len(f[2])] <- 1;")
        one = self.ok("saw", "--threads", "1", "-e", program, "a", "a")
        self.assertTrue(one.startswith("0\n10000\n20000\n"))
        self.assertIn("c[] = 110000\n", one)
        self.assertEqual(self.ok("saw", "-e", program, "a", "a"), one)
        self.assertEqual(self.ok("saw", "--threads", "5", "-e", program, "a",
                                 "-", stdin=text.encode()), one)
        self.assertIn("b: line 60001: ", self.fails(1, "saw", "-e", program,
                                                    "a", "b"))
        self.fails(2, "saw", "--threads", "0", "-e", program, "a")

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

    def test_files_and_commands(self):
        """Tables with file(…) and proc(…) go there; a command that fails fails
        the run; where programs are restricted there are neither."""
        self.write("a", "x\nz\ny\n")
        table = "t: table collection of s: bytes %s; emit t <- input;"
        self.ok("saw", "-e", table % 'format("%s\\n", string(s)) '
                'file("out.%s", "txt")', "a")
        with open(self.path("out.txt")) as f:
            self.assertEqual(f.read(), "x\nz\ny\n")
        to_sort = table % 'format("%s\\n", string(s)) proc("sort -r")'
        self.assertEqual(self.ok("saw", "-e", to_sort, "a"), "z\ny\nx\n")
        self.assertIn("exit 3: exit status 3", self.fails(
            1, "saw", "-e", table % 'proc("cat >out2; exit 3")', "a"))
        with open(self.path("out2")) as f:
            self.assertEqual(f.read(), "xzy")
        self.assertEqual(self.run_quarry("saw", "--restrict", "-e", to_sort,
                                         "a").returncode, 1)

    def test_aligned(self):
        """--aligned prints a sheet for each table."""
        self.write("a", "x\ny\nx\n")
        program = ("t: table sum[word: string] of n: int; "
                   "emit t[string(input)] <- 1;")
        self.assertEqual(self.ok("saw", "-a", "-e", program, "a"),
                         "t\nword  n\n────  ─\nx     2\ny     1\n")

    def test_aligned_pages(self):
        """Long sheets are printed as they go, not kept: the first lines say how
        wide columns are, and wider cells move the rest of their line."""
        rows = 40000
        self.write("a", "".join("%06d %s\n" % (i, "x" * 500)
                                for i in range(rows)) + "z" * 600 + "\n")
        program = ("t: table collection[s: string] of n: int; "
                   "emit t[string(input)] <- 7;")

        def peak(*options):
            """KiB that it had at most, and what it printed."""
            with open(self.path("out"), "wb") as out:
                pid = subprocess.Popen(
                    [QUARRY, "saw", *options, "-e", program, "a"],
                    cwd=self.dir, env=self.env, stdout=out).pid
                _, status, usage = os.wait4(pid, 0)
            self.assertEqual(status, 0)
            with open(self.path("out")) as out:
                return usage.ru_maxrss, out.read().splitlines()
        plain, _ = peak()
        aligned, lines = peak("-a")
        self.assertEqual(len(lines), rows + 4)
        self.assertEqual(lines[3], "%06d %s  7" % (0, "x" * 500))
        self.assertEqual(len(set(map(len, lines[2:-1]))), 1)
        self.assertEqual(lines[-1], "z" * 600 + "  7")
        self.assertLess(aligned, plain + 16 * 1024)

    def test_rows_of_no_table(self):
        """A program that reads rows is refused over lines, by every command."""
        self.write("l.txt", "one\ntwo\n")
        program = "r: Row = input; emit stdout <- string(r.key);"
        self.write("p.szl", program)
        for command in (["saw", "-e", program, "l.txt"],
                        ["saw", "-e", program],
                        ["szl", "p.szl", "l.txt"]):
            done = self.run_quarry(*command)
            self.assertIn(done.returncode, (1, 2), command)
            self.assertIn(b"rows of a table", done.stderr)

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
        tree = self.ok("saw", "dump", "--tree", "-e", "x: int = 1;")
        code = self.ok("saw", "dump", "--code", "-e", "x: int = 1;")
        self.assertIn("var", tree)
        self.assertIn("HALT", code)
        self.assertEqual(self.ok("saw", "dump", "-e", "x: int = 1;"),
                         "tree\n" + tree + "code\n" + code)

    def test_check_many(self):
        """All programs are checked, whatever is wrong with the first."""
        self.write("a.szl", "x: int = ;\n")
        self.write("b.szl", "x: int = 1; emit stdout <- format(\"%d\", x);\n")
        self.write("c.szl", "y();\n")
        done = self.run_quarry("saw", "check", "a.szl", "b.szl", "c.szl")
        self.assertEqual(done.returncode, 1)
        for text in (b"a.szl:1:10", b"c.szl:1:1", b"2 of 3 programs"):
            self.assertIn(text, done.stderr)
        self.assertNotIn(b"b.szl", done.stderr)

    def test_format(self):
        """fmt prints, checks and writes; comments stay."""
        self.write("a.szl", "x:int=1;# one\nif(x>0){x=2;}\n")
        want = "x: int = 1;  # one\nif (x > 0) { x = 2; }\n"
        self.assertEqual(self.ok("saw", "fmt", "a.szl"), want)
        self.assertEqual(self.ok("saw", "fmt", "-", stdin="x:=1;"),
                         "x := 1;\n")
        self.assertIn("1 of 1", self.fails(1, "saw", "fmt", "--check",
                                           "a.szl"))
        os.chmod(self.path("a.szl"), 0o640)
        self.assertEqual(self.ok("saw", "fmt", "--write", "a.szl"), "")
        with open(self.path("a.szl")) as f:
            self.assertEqual(f.read(), want)
        self.assertEqual(os.stat(self.path("a.szl")).st_mode & 0o777, 0o640)
        self.ok("saw", "fmt", "--check", "a.szl")
        self.write("bad.szl", "x = ;\n")
        self.assertIn("bad.szl", self.fails(1, "saw", "fmt", "-w", "bad.szl"))
        with open(self.path("bad.szl")) as f:
            self.assertEqual(f.read(), "x = ;\n")

    def test_explain(self):
        """Each predeclared name has a line, and help."""
        text = self.ok("saw", "explain")
        lines = text.splitlines()
        self.assertGreater(len(lines), 250)
        for name, help_text in zip(lines[0::2], lines[1::2]):
            self.assertRegex(name, r"^\w+: \w")
            self.assertRegex(help_text, r"^    \S")
        self.assertIn("function(p: string, s: string): int",
                      self.ok("saw", "explain", "strfind"))
        self.fails(1, "saw", "explain", "nosuch")

    def test_as_published(self):
        """szl takes the published interpreter's flags, and its defaults."""
        self.write("p.szl", "t: table sum of int; emit t <- len(input);\n")
        self.write("in", "ab\n" + "x" * 5000 + "\nc\0d\n")
        emits = "".join("emit t <- %d;\n" % n for n in (2, 4095, 905, 1))
        self.assertEqual(self.ok("szl", "p.szl", "in"), emits)
        self.assertEqual(self.ok("szl", "--table_output=*", "--nonative",
                                 "--program=p.szl", "in"), "t[] = 5003\n")
        self.assertEqual(self.ok("szl", "--begin_record=1", "--num_records=2",
                                 "p.szl", "in"),
                         "emit t <- 4095;\nemit t <- 905;\n")
        self.assertEqual(self.ok("szl", "p.szl"), "emit t <- 0;\n")
        self.assertEqual(self.ok("szl", "--noexecute", "p.szl"), "")
        self.assertEqual(self.ok("szl", "-e", "emit stdout <- \"x\";"), "x\n")


if __name__ == "__main__":
    main()

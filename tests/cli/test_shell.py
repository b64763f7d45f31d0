"""The shell: scripts on standard input, and a terminal with history,
completion and Ctrl-C."""

import os
import re

from harness import CliTest, Terminal, main


class Scripts(CliTest):
    def test_pasted_command(self):
        """A line that was copied from the documentation is taken as it is."""
        self.table()
        t = Terminal(self, "shell")
        t.prompt()
        t.line("quarry count t --format json")
        self.assertIn('"rows": 0', t.prompt())
        t.type("\x04")
        t.close()

    def test_script(self):
        """Commands from standard input run one after the other in one process.
        """
        out = self.ok("shell", stdin="table create t --family f\n"
                      "# a comment\n\n"
                      "put t 'a row' 'f:q=some words'  f:r=\"x \\\"y\\\"\"\n"
                      "get t 'a row' --format json\n"
                      "count t\nexit\nnonsense\n")
        self.assertIn('"value": "some words"', out)
        self.assertIn('"value": "x \\"y\\""', out)
        self.assertRegex(out, r"rows +cells\n─+  ─+\n +1 +2\n")

    def test_first_error_ends(self):
        """A script ends at the first error, which names the line."""
        self.table()
        message = self.fails(1, "shell", stdin="put t a f:q=1\n"
                             "put t b nosuch:q=1\nput t c f:q=1\n")
        self.assertIn("line 2", message)
        self.assertEqual(self.ok("scan", "t", "--keys-only"), "a\n")

    def test_quotes(self):
        self.table()
        self.assertIn("without its end",
                      self.fails(1, "shell", stdin="put t 'a f:q=1\n"))


class Sawzall(CliTest):
    """The saw mode: what is typed is evaluated, and stays."""

    def saw(self, *lines):
        return self.ok("shell", stdin="saw\n" + "\n".join(lines) + "\n")

    def test_values(self):
        """Expressions are shown as the language writes them."""
        self.assertEqual(
            self.saw("1 + 2", '"a" + "b";', "1.0", "def(1 / 0)",
                     'matchstrs("[a-z]", "xy")', "{1, 2}[0]", "time(0)"),
            '3\n"ab"\n1.0\nfalse\n{"x"}\n' +
            self.saw("{1, 2}[0]", "time(0)"))

    def test_what_stays(self):
        """Declarations and changes stay; what was printed is not again."""
        self.assertEqual(
            self.saw("x: int = 5", "x++", "x = x * 2", "x",
                     'emit stdout <- "once"',
                     "f: function(n: int): int {", "  if (n < 2)",
                     "    return n;", "  return f(n - 1) + f(n - 2);", "}",
                     "f(x)"), "12\nonce\n144\n")

    def test_declared_again(self):
        """A function declared again is the one that others call; a variable
        starts over, with another type if need be."""
        self.assertEqual(
            self.saw("f: function(): int { return 1; }",
                     "g: function(): int { return 10 * f(); }", "g()",
                     "f: function(): int { return 2; }", "g()",
                     "x: int = 1", "x++", 'x: string = "a"', "x"),
            '10\n20\n"a"\n')

    def test_commands(self):
        self.write("lib.szl", "twice: function(n: int): int {\n"
                   "  return 2 * n;\n};\nt: table sum[string] of int;\n")
        self.assertEqual(
            self.saw(":load lib.szl", "twice(4)", ":type twice",
                     ":type twice(1) > 1", 'emit t["a"] <- 1',
                     'emit t["a"] <- twice(1)', ":tables", ":input some text",
                     "len(input)", "i: int = 3;", ":list", ":clear", ":list"),
            "8\nfunction(n: int): int\nbool\nt[a] = 3\n9\n"
            "[1] twice: function(n: int): int {\n  return 2 * n;\n};\n"
            "t: table sum[string] of int;\n"
            '[5] emit t["a"] <- 1;\n[6] emit t["a"] <- twice(1);\n'
            "[8] i: int = 3;\n")
        self.assertIn(":tables", self.saw(":help"))
        self.assertIn("strfind", self.saw(":help strfind"))

    def test_clock_and_chance(self):
        """Random numbers and times that were read before do not change."""
        out = self.saw("a := rand()", "t := now()", "a == a",
                       "x: bool = t <= now()", "x", "a", "b := rand()",
                       "a").split()
        self.assertEqual(out[0:2], ["true", "true"])
        self.assertEqual(out[2], out[3])

    def test_errors(self):
        """Errors show the place, in compiling and in running."""
        for lines, place in (
                (["x: int = 1;", 'x = "a"'], '    x = "a"\n    ^'),
                (["foo(1)"], "    foo(1)\n    ^"),
                (["x: int = 0;", "1 + 2 / x"], "    1 + 2 / x\n"),
                (["f(", "", ""], "found end of file")):
            done = self.run_quarry("shell",
                                   stdin="saw\n" + "\n".join(lines) + "\n")
            self.assertEqual(done.returncode, 1)
            self.assertIn(place, done.stderr.decode())

    def test_back(self):
        """:quit goes back to the commands; the session is still there."""
        self.table()
        self.assertEqual(
            self.ok("shell", stdin="saw\nx: int = 7;\n:quit\n"
                    "put t r f:q=1\nscan t --keys-only\nsaw\nx\n"),
            "r\n7\n")


class AtTerminal(CliTest):
    def open_shell(self):
        t = Terminal(self, "shell")
        t.prompt()
        return t

    def exit(self, terminal):
        terminal.line("exit")
        terminal.close()

    def test_commands_and_errors(self):
        """Commands run; an error does not end the shell; exit does."""
        self.table()
        t = self.open_shell()
        t.line("put t r f:q=1")
        t.prompt()
        t.line("scan tt")
        self.assertIn("did you mean t?", t.prompt())
        t.line("scan t --keys-only")
        self.assertEqual(t.prompt(), "r\r\nquarry> ")
        self.exit(t)

    def test_completion(self):
        """Tab completes commands, options, tables and families."""
        self.table("webtable", "contents")
        t = self.open_shell()
        t.type("desc\t")
        t.type("\x15")  # Clear the line.
        t.type("table desc\t")
        t.wait_for("ribe ")
        t.type("web\t")
        t.wait_for("table ")
        t.line("")
        self.assertIn("keeps everything", t.prompt())
        t.type("scan webtable --key\t")
        t.wait_for("s-only ")
        t.type("\x15get webtable r cont\t")
        t.wait_for("ents:")
        t.type("\x15")
        self.exit(t)

    def test_completion_of_files(self):
        """Tab offers files of this machine where a file is meant, and tables
        where a table is."""
        self.table("webtable", "contents")
        os.mkdir(self.path("people"))
        self.write("people/adams.csv", "k,v\n1,2\n")
        t = self.open_shell()
        t.type("import csv peo\t")
        t.wait_for("ple/")
        t.type("ad\t")
        t.wait_for("ams.csv ")
        t.type("--into web\t")
        t.wait_for("table ")
        t.type("\x15export web\t")
        t.wait_for("table ")
        t.type("peop\t")
        t.wait_for("le/")
        t.type("\x15")
        self.exit(t)

    def test_history(self):
        """The arrow brings the last line back, in the next shell too."""
        self.table()
        t = self.open_shell()
        t.line("put t r f:q=remembered")
        t.prompt()
        self.exit(t)
        t = self.open_shell()
        t.type("\x1b[A\x1b[A")
        t.wait_for("remembered")
        t.type("\x15")
        self.exit(t)

    def test_any_letters(self):
        """A key may be several bytes; bytes that are none are skipped."""
        self.table()
        t = self.open_shell()
        t.line("put t zürich→東京 f:q=1")
        t.prompt()
        self.exit(t)
        self.assertEqual(self.ok("scan", "t", "--keys-only"), "zürich→東京\n")

    def test_interrupt(self):
        """Ctrl-C drops the line and keeps the shell."""
        self.table()
        t = self.open_shell()
        t.line("put t never f:q=1", end="\x03")
        t.prompt()
        t.line("count t --format csv")
        self.assertIn("0,0", t.prompt())
        t.line("", end="\x04")
        t.close()

    def test_interrupt_of_what_does_not_wait(self):
        """Ctrl-C is heard that comes when the shell does not wait for keys yet,
        and nothing that it shows is lost."""
        t = self.open_shell()
        t.type("help")
        t.wait_for("help")
        t.hold("x")
        t.press("\x03")
        t.release()
        t.wait_for("x\r\n")
        t.at_prompt = False
        t.prompt()
        self.exit(t)

    def test_saw_mode(self):
        """Several lines, history, and Ctrl-C, which ends a running program and
        drops an unfinished one."""
        t = self.open_shell()
        for text, prompt in (
                ("saw", "saw> "), ("f: function(n: int): int {", "...> "),
                ("return n + 1; }", "saw> ")):
            t.line(text)
            t.prompt(prompt)
        for text in ("f(41)", "\x1b[A"):
            t.line(text)
            self.assertEqual(t.prompt("saw> "), "42\r\nsaw> ")
        t.line('emit stdout <- "it " + "runs"; while (true) { f(1); }')
        t.wait_for("it runs")
        t.press("\x03")
        self.assertIn("cancelled", t.prompt("saw> "))
        t.line("x = (1 +")
        t.prompt("...> ")
        for key, prompt in (("\x03", "saw> "), ("\x04", "quarry> ")):
            t.line("", end=key)
            t.prompt(prompt)
        self.exit(t)

    def test_cut_at_the_terminal(self):
        """Values end at the edge of a terminal, and nowhere else."""
        self.table()
        self.ok("put", "t", "r", "f:q=" + "x" * 500)
        t = Terminal(self, "scan", "t")
        shown = t.wait_for("…")
        self.assertNotIn("x" * 100, shown)
        t.close()
        self.assertIn("x" * 500, self.ok("scan", "t"))


class Help(CliTest):
    """Help that is longer than the terminal goes through a pager."""

    def paged_by(self, pager):
        self.env["PAGER"] = pager

    def shown(self, *command):
        t = Terminal(self, *command)
        t.close()
        while t.read(0.1):
            pass
        return t.shown.decode()

    def test_pager(self):
        """Long help at a terminal is the pager's, short help is not, nor is
        any that goes elsewhere."""
        self.paged_by("sed s/^/PAGED:/")
        self.assertIn("PAGED:Usage: quarry", self.shown("help"))
        self.assertIn("PAGED:Usage: quarry", self.shown())
        self.assertIn("PAGED:Usage: quarry scan", self.shown("scan", "-h"))
        short = self.shown("help", "token")
        self.assertIn("Usage: quarry token", short)
        self.assertNotIn("PAGED", short)
        self.assertNotIn("PAGED", self.ok("help"))

    def test_no_pager(self):
        """Without one, or with one that cannot be run, all is printed."""
        for pager in ("", " ", "/nosuch/pager"):
            self.paged_by(pager)
            text = self.shown("help")
            self.assertIn("Usage: quarry", text, pager)
            self.assertIn("Exit status: 0 done", text, pager)

    def test_pager_ends_early(self):
        """A user who leaves the pager at once is back in the shell."""
        self.paged_by("head -n 1")
        t = Terminal(self, "shell")
        t.prompt()
        for _ in range(2):
            t.line("help")
            self.assertNotIn("Exit status", t.prompt())
        t.line("exit")
        t.close()

    def test_interrupt_in_pager(self):
        """Ctrl-C is for the pager alone; q leaves it for the shell."""
        self.paged_by("less -X")
        t = Terminal(self, "shell")
        t.prompt()
        t.line("help")
        t.wait_for("Usage: quarry")
        t.wait_for(":\x1b[K")
        t.press("\x03")
        t.wait_for("\x07")
        # less repeats its prompt only if the signal came while it read, and the
        # first key after one that came earlier is lost.
        t.press("G")
        t.press("G")
        t.wait_for("Exit status: 0 done")
        t.press("q")
        t.prompt()
        t.line("version")
        t.prompt()
        t.line("exit")
        t.close()


class Sheets(CliTest):
    def test_narrow_terminal(self):
        """Columns without room stand below their row; nothing is cut."""
        def lines(columns, *command):
            t = Terminal(self, *command, columns=columns)
            t.close()
            while t.read(0.1) and not t.seen.endswith(b"\r\n"):
                pass
            return t.shown.decode().replace("\r", "").splitlines()
        wide = lines(200, "job", "catalogue")
        self.assertIn("what_it_does", wide[0])
        narrow = lines(50, "job", "catalogue")
        self.assertEqual(narrow[0], "job")
        at = narrow.index("page_rank")
        self.assertEqual(narrow[at + 1:at + 3], [
            "    parameters: iterations=100 tolerance=0.00001 "
            "damping=0.85 limit=0 memory=805306368",
            "    what_it_does: Rank pages by the links to them."])
        self.assertEqual(narrow[narrow.index("url_frequency") + 1],
                         "    what_it_does: Count the requests of an access "
                         "log, or captures, by URL.")
        self.table("t", "f")
        shown = "\n".join(lines(60, "table", "describe", "t"))
        self.assertIn("memory=off,memtable=64MiB", shown)
        self.assertEqual(max(map(len, re.findall("─[─ ]*", shown))), 60)


class Progress(CliTest):
    def test_one_line(self):
        """The progress of a job stays on one line of a narrow terminal, so
        that each picture replaces the one before."""
        self.write("text", "a b\n")
        for columns in (100, 60, 30):
            t = Terminal(self, "job", "run", "--mapper", "sleep 2; cat",
                         "--input", "file:text", "--output",
                         "file:out%d" % columns, columns=columns)
            t.wait_for("records in")
            t.close()
            drawn = t.shown.decode().split("\r\x1b[K")[1:-1]
            self.assertGreater(len(drawn), 2)
            for line in drawn:
                self.assertLess(len(line), columns, line)
                self.assertNotIn("0us left", line)
            maps = [line for line in drawn if line.startswith("map ")]
            self.assertIn(" 100% ", maps[-1])
            self.assertEqual("█" * 24 in maps[-1], columns == 100)


if __name__ == "__main__":
    main()

"""The shell: scripts on standard input, and a terminal with history,
completion and Ctrl-C."""

import time

from harness import CliTest, Terminal, main


class Scripts(CliTest):
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


class AtTerminal(CliTest):
    def open_shell(self):
        t = Terminal(self, "shell")
        t.wait_for("quarry> ")
        return t

    def test_commands_and_errors(self):
        """Commands run; an error does not end the shell; exit does."""
        self.table()
        t = self.open_shell()
        t.type("put t r f:q=1\r")
        t.wait_for("quarry> ")
        t.type("scan tt\r")
        self.assertIn("did you mean t?", t.wait_for("quarry> "))
        t.type("scan t --keys-only\r")
        t.wait_for("r\r\n")
        t.type("exit\r")
        self.assertEqual(t.close(), 0)

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
        t.type("\r")
        t.wait_for("keeps everything")
        t.wait_for("quarry> ")
        t.type("scan webtable --key\t")
        t.wait_for("s-only ")
        t.type("\x15get webtable r cont\t")
        t.wait_for("ents:")
        t.type("\x15exit\r")
        self.assertEqual(t.close(), 0)

    def test_history(self):
        """The arrow brings the last line back, in the next shell too."""
        self.table()
        t = self.open_shell()
        t.type("put t r f:q=remembered\r")
        t.wait_for("quarry> ")
        t.type("exit\r")
        self.assertEqual(t.close(), 0)
        t = self.open_shell()
        t.type("\x1b[A\x1b[A")
        t.wait_for("remembered")
        t.type("\x15exit\r")
        self.assertEqual(t.close(), 0)

    def test_interrupt(self):
        """Ctrl-C drops the line and keeps the shell."""
        self.table()
        t = self.open_shell()
        # The prompt comes before the terminal is in raw mode: let it settle, or
        # the terminal itself takes the Ctrl-C and drops what was typed.
        time.sleep(0.5)
        t.type("put t never f:q=1")
        t.wait_for("f:q=1")
        t.type("\x03")
        t.wait_for("quarry> ")
        t.type("count t --format csv\r")
        t.wait_for("0,0")
        t.type("\x04")
        self.assertEqual(t.close(), 0)

    def test_cut_at_the_terminal(self):
        """Values end at the edge of a terminal, and nowhere else."""
        self.table()
        self.ok("put", "t", "r", "f:q=" + "x" * 500)
        t = Terminal(self, "scan", "t")
        shown = t.wait_for("…")
        self.assertNotIn("x" * 100, shown)
        self.assertEqual(t.close(), 0)
        self.assertIn("x" * 500, self.ok("scan", "t"))


if __name__ == "__main__":
    main()

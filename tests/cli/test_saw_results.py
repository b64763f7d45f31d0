"""Results of Sawzall programs that are many: they are printed as they come, and
end when they are told to."""

import resource
import signal
import subprocess

from harness import QUARRY, CliTest, main

PROGRAM = """t: table quantile(1000000000) of int;
emit t <- int(string(input), 10);
"""


class ResultsTest(CliTest):
    def test_end_of_many(self):
        """A billion lines are begun at once, take no memory, and end with the
        reader or with SIGTERM."""
        self.write("q.szl", PROGRAM)
        self.write("in", "1\n2\n3\n")
        for form in ("text", "json", "csv"):
            for sent in (True, False):
                p = subprocess.Popen(
                    [QUARRY, "saw", "q.szl", "in", "--format", form],
                    cwd=self.dir, env=self.env, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL)
                self.assertIn(b"1", p.stdout.read(1 << 22))
                if sent:
                    p.send_signal(signal.SIGTERM)
                    while p.stdout.read(1 << 20):
                        pass
                p.stdout.close()
                self.assertNotEqual(p.wait(timeout=120), 0)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        self.assertLess(most, 1 << 20)  # KiB; checked builds take more.

    def test_many_rows(self):
        """Where lines are printed in pieces, the header comes once a table."""
        self.write("in", "".join("%d\n" % i for i in range(10000)))
        text = self.ok("saw", "-e", "t: table collection of string;"
                       "u: table sum of int;"
                       "emit t <- string(input); emit u <- 1;", "in",
                       "--format", "csv")
        lines = text.splitlines()
        self.assertEqual(lines.count("table,value"), 2)
        self.assertEqual(lines.count(""), 1)
        self.assertEqual(len(lines), 10000 + 2 + 1 + 1)
        self.assertIn("u,10000", lines)


if __name__ == "__main__":
    main()

"""Views on the command line: made, maintained, read, checked, dropped; and
maintainers that are killed at random moments."""

import random
import signal
import subprocess
import time

from harness import QUARRY, CliTest, main

PROGRAM = """r: Row = input;
by: table sum[lang: string] of int;
best: table maximum(2) of string weight int;
keys: table collection of string;
n: int = int(string(cell(r, "c:n")), 10);
emit by[string(cell(r, "c:lang"))] <- n;
emit best <- string(r.key) weight n;
emit keys <- string(r.key);
"""


class ViewsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.write("p.szl", PROGRAM)
        self.ok("table", "create", "t", "--family", "c", "--changes", "1d")

    def follow(self):
        self.ok("follow", "run", "--until-caught-up")

    def expect_equal(self, view="v", program="p.szl"):
        self.assertEqual(self.ok("view", "show", view),
                         self.ok("saw", program, "--table", "t"))

    def test_program(self):
        """A view follows writes, overwrites and deletions."""
        for i in range(1, 7):
            self.ok("put", "t", "r%d" % i, "c:lang=l%d" % (i % 2),
                    "c:n=%d" % i)
        self.ok("view", "create", "v", "AS", "p.szl", "--table", "t")
        self.assertIn("still being built", self.fails(1, "view", "show", "v"))
        self.follow()
        self.expect_equal()
        self.ok("put", "t", "r6", "c:n=0")
        self.ok("put", "t", "r7", "c:n=many", "c:lang=l1")
        self.ok("delete", "t", "r5")
        self.follow()
        self.assertIn("_undef_cnt", self.ok("view", "show", "v"))
        self.assertEqual(self.json("view", "describe", "v")[-1]["field"],
                         "program")
        self.assertEqual(self.json("view", "list")[0]["failed"], 1)
        check = self.json("view", "check", "v")[0]
        self.assertEqual((check["rows"], check["wrong_rows"],
                          check["wrong_groups"]), (6, 0, 0))

    def test_by_name(self):
        """Programs and jobs read a view's rows by its name."""
        for i in range(1, 7):
            self.ok("put", "t", "r%d" % i, "c:lang=l%d" % (i % 2),
                    "c:n=%d" % i)
        self.ok("view", "create", "v", "AS", "p.szl", "--table", "t")
        self.ok("view", "create", "langs", "--sql",
                "SELECT c['lang'] AS lang, count(*) AS n, avg(key::BIGINT) "
                "AS none FROM t GROUP BY lang")
        self.follow()
        self.write("r.szl", """r: Row = input;
out: table collection[k: string] of string;
for (i := 0; i < len(r.column); i++) {
  name: string = keys(r.column)[i];
  emit out[string(r.key)] <- name + "=" + string(cell(r, name));
}
""")
        want = "out[l0] = default:lang=l0\nout[l0] = default:n=3\n" \
            "out[l1] = default:lang=l1\nout[l1] = default:n=3\n"
        self.assertEqual(self.ok("saw", "r.szl", "--view", "langs"), want)
        self.ok("job", "run", "r.szl", "--input", "view:langs", "--output",
                "file:out")
        self.assertEqual(self.ok("saw", "r.szl", "--view", "v.by"),
                         want.replace("default:n", "default:value")
                         .replace("lang=l0\nout[l0] = default:value=3",
                                  "lang=l0\nout[l0] = default:value=12")
                         .replace("lang=l1\nout[l1] = default:value=3",
                                  "lang=l1\nout[l1] = default:value=9"))
        self.assertEqual(self.ok("saw", "r.szl", "--view", "v.best").split()[0],
                         "out[00000000000000000000]")
        self.assertIn("several tables (name one of by, best, keys)",
                      self.fails(1, "saw", "r.szl", "--view", "v"))
        self.assertIn("has no table no", self.fails(
            1, "saw", "r.szl", "--view", "v.no"))
        self.assertIn("there are: langs, v", self.fails(
            1, "job", "run", "r.szl", "--input", "view:lang", "--output",
            "file:out2"))
        self.assertIn("either a table, a view or files", self.fails(
            2, "saw", "r.szl", "--view", "v", "--table", "t"))

    def test_what_nobody_tells(self):
        """A check finds what was not told, and a refresh mends it."""
        for i in range(1, 5):
            self.ok("put", "t", "r%d" % i, "c:lang=x", "c:n=%d" % i)
        self.ok("view", "create", "v", "p.szl", "--table", "t")
        self.follow()
        self.ok("delete", "t", "--start", "r2", "--end", "r4")
        self.follow()
        done = self.run_quarry("view", "check", "v", "--wait", "0s")
        self.assertEqual(done.returncode, 1)
        self.assertIn("r2", done.stdout.decode())
        self.ok("view", "refresh", "v")
        self.follow()
        self.ok("view", "check", "v", "--wait", "0s")
        self.expect_equal()

    def test_sql(self):
        """A view by SQL shows the rows of its SELECT."""
        for i in range(1, 7):
            self.ok("put", "t", "r%d" % i, "c:lang=l%d" % (i % 2),
                    "c:n=%d" % i)
        self.ok("view", "create", "s", "--sql",
                "SELECT c['lang'] AS lang, count(*) AS n, "
                "max(c['n']::BIGINT) AS top FROM t WHERE key <> 'r6' "
                "GROUP BY lang")
        self.follow()
        self.assertEqual(self.ok("view", "show", "s", "--format", "csv"),
                         "lang,n,top\nl0,2,4\nl1,3,5\n")
        self.ok("delete", "t", "r5")
        self.ok("put", "t", "r8", "c:n=8")
        self.follow()
        self.assertEqual(self.ok("view", "show", "s", "--format", "csv"),
                         "lang,n,top\nl0,2,4\nl1,2,3\n,1,8\n")
        self.assertIn("HAVING", self.fails(
            1, "view", "create", "b", "--sql",
            "SELECT count(*) FROM t HAVING count(*) > 1"))

    def test_wrong_use(self):
        """Mistakes are reported before anything is made."""
        self.assertIn("there is no view", self.fails(1, "view", "show", "no"))
        self.assertIn("there is no view", self.fails(1, "view", "drop", "no"))
        self.fails(2, "view", "create", "v", "p.szl")
        self.fails(2, "view", "create", "v", "--table", "t")
        self.fails(2, "view", "create", "v", "AS", "p.szl", "more", "--table",
                   "t")
        self.assertIn("no name", self.fails(1, "view", "create", "Über",
                                            "p.szl", "--table", "t"))
        self.fails(1, "view", "create", "v", "p.szl", "--table", "missing")
        self.write("now.szl", "r: Row = input;\nt: table sum of time;\n"
                   "emit t <- now();\n")
        self.assertIn("clock", self.fails(1, "view", "create", "v", "now.szl",
                                          "--table", "t"))
        self.write("bytes.szl", "t: table sum of int;\nemit t <- 1;\n")
        self.assertIn("rows", self.fails(1, "view", "create", "v", "bytes.szl",
                                         "--table", "t"))
        self.write("out.szl", "r: Row = input;\nemit stdout <- \"x\";\n")
        self.assertIn("prints", self.fails(1, "view", "create", "v", "out.szl",
                                           "--table", "t"))
        self.write("bad.szl", "r: Row = input;\nemit none <- 1;\n")
        self.assertIn("none", self.fails(1, "view", "create", "v", "bad.szl",
                                         "--table", "t"))
        self.ok("table", "create", "mute", "--family", "c")
        self.assertIn("--changes", self.fails(1, "view", "create", "v",
                                              "p.szl", "--table", "mute"))
        self.ok("view", "create", "v", "p.szl", "--table", "t")
        self.assertIn("already", self.fails(1, "view", "create", "v", "p.szl",
                                            "--table", "t"))
        self.assertNotIn(".view", self.ok("table", "list"))
        self.ok("view", "drop", "v")
        self.assertEqual(self.json("view", "list"), [])
        self.ok("view", "create", "v", "p.szl", "--table", "t")

    def test_killed(self):
        """A maintainer that is killed at any moment leaves a view that the
        next one makes right."""
        self.embedded_only("servers are killed by cluster/views")
        rand = random.Random(7)
        self.ok("view", "create", "v", "p.szl", "--table", "t")
        for step in range(6):
            lines = "".join(
                "put t r%03d c:lang=l%d c:n=%d\n" % (
                    rand.randrange(300), rand.randrange(4),
                    rand.randrange(1000)) for _ in range(200))
            lines += "".join("delete t r%03d\n" % rand.randrange(300)
                             for _ in range(20))
            self.ok("shell", stdin=lines)
            run = subprocess.Popen([QUARRY, "follow", "run"], cwd=self.dir,
                                   env=self.env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
            time.sleep(rand.random() * 0.8)
            run.send_signal(signal.SIGKILL)
            run.wait()
        self.follow()
        self.expect_equal()
        self.ok("view", "check", "v", "--wait", "0s")


if __name__ == "__main__":
    main()

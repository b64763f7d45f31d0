"""A principal who is refused a row is refused it every way: by a job that he
submits, which has his rights and no others, by a snapshot, a program, an
export, or the files below; and what others run is theirs."""

from processes import main
from test_access import CertifiedTest


class RightsTest(CertifiedTest):
    more_roles = ",jobs,worker"
    more_conf = ("[worker]\nslots = 2\nmax-memory = 2GiB\nmax-processes = 300\n"
                 "network = no\n")

    def setUp(self):
        super().setUp()
        self.make_table()
        # Jobs wait for it.
        self.wait_for(lambda: self.run_quarry("job", "list").returncode == 0)

    def run_job(self, *args):
        return ("job", "run") + args

    def copy(self, source, target):
        """Arguments of a job that copies."""
        return ("job", "run", "--mapper", "cat", "-i", source, "-o", target)

    def test_every_way(self):
        """A principal without rights gets no row by any command; the owner does by
        the same one."""
        ways = [
            ("scan", "web"),
            ("get", "web", "row"),
            ("count", "web"),
            ("export", "web", "-o", "web.jsonl"),
            ("saw", "rows.szl", "--table", "web"),
            ("table", "snapshot", "web", "snap-%s"),
            ("table", "clone", "web", "copy-%s"),
            ("job", "run", "rows.szl", "-i", "table:web", "-o",
             "file:/out-%s"),
            ("job", "run", "rows.szl", "-i", "table:web?live=yes",
             "-o", "file:/live-%s"),
        ]
        self.write("rows.szl",
                   'o: table sum of int;\nr: Row = input;\nemit o <- 1;\n')
        for name, check in (("stranger", self.refused), ("ann", self.ok)):
            for way in ways:
                with self.subTest(name=name, way=way):
                    self.become(name)
                    check(*[w.replace("%s", name) for w in way])

    def refused(self, *args):
        said = self.fails(1, *args)
        self.assertIn('"stranger" may not', said)

    def test_outputs(self):
        """A job writes what its submitter may write, and a table is made by those who
        may make one."""
        self.write("lines.txt", "a 1\nb 2\n")
        self.become("ann")
        self.ok("fs", "put", "lines.txt", "/lines.txt")
        self.ok("acl", "grant", "web", "read", "reader")
        count = ("job", "run", "--mapper",
                 "awk '{print $1 \"\\tanchor:n\\t\" $2}'", "-i",
                 "file:/lines.txt", "-o")
        for name in ("stranger", "reader"):
            self.become(name)
            self.assertIn('"%s" may not write' % name,
                          self.fails(1, *count, "table:web"))
        self.become("ann")
        self.ok(*count, "table:web")

    def test_files_below(self):
        """The files of tables, and of jobs, are the servers' own: nobody reads,
        replaces or removes them by path, nor has a job do so; his own files
        everybody uses as before."""
        self.become("quarry")
        listed = self.ok("fs", "ls", "/")
        self.assertIn("bigtable", listed)
        self.become("ann")
        self.ok("table", "compact", "web")
        self.write("mine.txt", "a 1\n")
        self.ok("fs", "put", "mine.txt", "/mine/f.txt")
        self.ok("fs", "mv", "/mine/f.txt", "/mine/g.txt")
        self.assertEqual(self.ok("fs", "cat", "/mine/g.txt"), "a 1\n")
        self.ok("fs", "rm", "/mine/g.txt")
        for order in (("ls", "/bigtable"), ("ls", "/./bigtable//"),
                      ("ls", "/mapreduce"), ("rm", "-r", "/mapreduce/history"),
                      ("rm", "-r", "/bigtable"), ("mv", "/bigtable", "/b"),
                      ("snapshot", "/bigtable", "/b"), ("snapshot", "/", "/b"),
                      ("put", "mine.txt", "/bigtable/x"),
                      ("put", "mine.txt", "/mapreduce/jobs/1/submitted"),
                      ("mkdir", "/bigtable/x")):
            with self.subTest(order=order):
                self.assertIn('"ann" may not', self.fails(1, "fs", *order))
        for spec in ("file:/bigtable/*", "file:bigtable/x", "file:/./bigtable",
                     "file:/big*/*", "file:/mapreduce/history", "file:/*/x"):
            with self.subTest(spec=spec):
                self.assertIn("it is the servers' own", self.fails(
                    1, "job", "run", "--mapper", "cat", "-i", spec, "-o",
                    "file:/out"))
        self.assertIn("it is the servers' own", self.fails(
            1, "job", "run", "--mapper", "cat", "-i", "file:/mine", "-o",
            "file:/bigtable/out"))
        self.become("quarry")
        self.ok("fs", "ls", "/bigtable")

    def test_files_of_others(self):
        """A job reads and writes the files that its submitter may, as text and
        as whole ones, by commands and by programs; what it writes is his."""
        self.write("mine.txt", "a 1\n")
        self.write("count.szl", 'o: table sum of int;\nemit o <- 1;\n')
        self.become("ann")
        self.ok("fs", "put", "mine.txt", "/ann/open.txt")
        self.ok("fs", "put", "mine.txt", "/ann/closed/f.txt")
        self.ok("fs", "chmod", "700", "/ann/closed")
        ways = (("--mapper", "cat"), ("--mapper", "cat", "--reducer", "cat"),
                ("count.szl",))
        for number, way in enumerate(ways):
            out = "file:/out-%d" % number
            with self.subTest(way=way):
                self.become("stranger")
                for source in ("file:/ann/closed/f.txt", "file:/ann/closed",
                               "file:/ann/*/f.txt", "file:/ann/closed/*"):
                    said = self.fails(1, "job", "run", *way, "-i", source, "-o",
                                      out)
                    self.assertIn("stranger", said)
                    self.assertIn("may not", said)
                said = self.fails(1, "job", "run", *way, "-i",
                                  "file:/ann/open.txt", "-o", "file:/ann/out")
                self.assertIn('"stranger" may not make or remove names in /ann',
                              said)
                self.ok("job", "run", *way, "-i", "file:/ann/open.txt", "-o", out)
                listed = {r["path"]: r["owner"] for r in
                          self.json("fs", "ls", "-l", "/")}
                self.assertEqual(listed["/out-%d" % number], "stranger")
                owners = {r["owner"] for r in self.json(
                    "fs", "ls", "-l", "-R", "/out-%d" % number)}
                self.assertEqual(owners, {"stranger"})
                self.become("ann")
                self.ok("job", "run", *way, "-i", "file:/ann/closed", "-o",
                        "file:/ann/closed/out-%d" % number)
        self.become("stranger")
        self.fails(1, "fs", "ls", "/ann/closed")

    def test_jobs_of_others(self):
        """Nobody ends another's job, or reads what it counted; administrators do
        both; all see that it runs."""
        self.write("lines.txt", "a\n")
        self.become("ann")
        self.ok("fs", "put", "lines.txt", "/lines.txt")
        job = self.ok("job", "run", "--detach", "--mapper", "sleep 600; cat",
                      "-i", "file:/lines.txt", "-o", "file:/slow").strip()
        self.wait_for(lambda: self.json("job", "list")[0]["done"] is not None)
        self.become("stranger")
        for order in ("kill", "status", "counters", "attempts"):
            said = self.fails(1, "job", order, job)
            self.assertIn("stranger may not", said)
            self.assertIn("which is ann's", said)
        said = self.fails(1, "job", "log", job, "m0.1")
        self.assertIn("stranger may not look into", said)
        for order in ("sessions", "holders"):
            self.assertIn("stranger may not see the sessions",
                          self.fails(1, "lock", order))
        listed = [j for j in self.json("job", "list") if j["job"] == job]
        self.assertEqual(listed[0]["by"], "ann")
        self.assertEqual(listed[0]["state"], "running")
        self.become("quarry")
        self.ok("acl", "grant", "--whole-cluster", "own", "reader")
        self.become("reader")
        self.ok("job", "status", job)
        self.ok("job", "attempts", job)
        self.ok("lock", "sessions")
        self.ok("job", "kill", job)
        self.become("ann")
        self.wait_for(lambda: "killed" in self.ok("job", "status", job))
        self.become("stranger")
        self.assertIn("stranger may not", self.fails(1, "job", "status", job))

    def test_caps(self):
        """A job asks for no more than the administrator allows."""
        self.write("lines.txt", "a\n")
        self.become("ann")
        self.ok("fs", "put", "lines.txt", "/lines.txt")
        job = ("job", "run", "--mapper", "cat", "-i", "file:/lines.txt", "-o",
               "file:/out")
        for asked, why in (
                (("--heap", "1000GiB"), "of 2 GiB at most"),
                (("--processes", "1000"), "1000 processes of an attempt, of 300"),
                (("--network",), "network = no"),
                (("--no-sandbox",), "no-sandbox = no")):
            with self.subTest(asked=asked):
                self.assertIn(why, self.fails(1, *job, *asked))
        self.ok(*job)


if __name__ == "__main__":
    main()

"""job run, catalogue, history, status, counters: from text and tables, built
in, as commands and as Sawzall programs."""

import gzip
import os
import signal

from harness import SECONDS_MAX, CliTest, main


class Jobs(CliTest):
    def result(self, name):
        lines = []
        for part in sorted(os.listdir(self.path(name))):
            if part.startswith("part-"):
                with open(self.path(os.path.join(name, part))) as f:
                    lines += f.read().splitlines()
        return sorted(lines)

    def test_word_count(self):
        """The built-in job counts words, in the files named by a pattern."""
        self.write("a.txt", "the fox\nthe dog\n")
        self.write("b.txt", "the end\n")
        self.ok("job", "run", "word_count", "--input", "file:*.txt",
                "--output", "file:out")
        self.assertEqual(self.result("out"), ["dog\t1", "end\t1", "fox\t1",
                                              "the\t3"])
        self.assertEqual(self.run_quarry("job", "run", "word_count", "--input",
                                         "file:*.txt", "--output",
                                         "file:out").returncode, 1)
        self.ok("job", "run", "word_count", "--input", "file:*.txt",
                "--output", "file:out", "--overwrite", "--local")
        self.assertEqual(len(self.result("out")), 4)

    def test_many_parts(self):
        """A result may have up to 4,096 parts."""
        self.write("in", "".join("w%d\n" % i for i in range(1000)))
        self.ok("job", "run", "word_count", "--input", "file:in", "--output",
                "file:out", "--reducers", "300")
        self.assertEqual(len(self.result("out")), 1000)
        self.assertIn("not from 1 to 4096", self.fails(
            2, "job", "run", "word_count", "--input", "file:in", "--output",
            "file:o", "--reducers", "4097"))

    def test_commands(self):
        """Any program that reads and writes lines is a mapper or a reducer."""
        self.write("in", "b a\na\n")
        self.ok("job", "run", "--mapper", "tr ' ' '\\n'", "--reducer",
                "cut -f1 | uniq -c | tr -s ' '", "--input", "file:in",
                "--output", "file:out")
        self.assertEqual(self.result("out"), [" 1 b", " 2 a"])

    def test_table(self):
        """A job reads rows of a table and writes to another."""
        self.write("w.csv", "k,n\nr1,1\nr2,2\n")
        self.ok("import", "csv", "w.csv", "--into", "t")
        self.ok("job", "run", "--mapper", "cut -f1", "--input", "table:t",
                "--output", "file:out")
        self.assertEqual(self.result("out"), ["r1\t", "r2\t"])

    def test_cells_as_lines(self):
        """Lines written to a table are cells, with a time of their own or that
        of the job; what is neither is refused."""
        self.ok("table", "create", "t", "--family", "f")
        self.write("in", "x\n")

        def write(line):
            return self.run_quarry("job", "run", "--mapper", "printf '%s'" %
                                   line, "-i", "file:in", "-o", "table:t")
        for line in (r"a\tf:x\t17\tone\n", r"b\tf:x\t\ttwo\n",
                     r"c\tf:x\tthree\n"):
            self.assertEqual(write(line).returncode, 0)
        lines = self.ok("scan", "t", "--format", "csv").split()[1:]
        self.assertEqual(lines[0], "a,f,x,17,one")
        for line, want in zip(lines[1:], (("b", "two"), ("c", "three"))):
            row, _, _, time, value = line.split(",")
            self.assertEqual((row, value), want)
            self.assertGreater(int(time), 10 ** 15)
        for line in (r"d\tf:x\tsoon\tfour\n", r"d\tx\t\tfour\n", r"d\n"):
            done = write(line)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"family:column", done.stderr)

    def test_history(self):
        """The history has the jobs that were run, with their counters."""
        self.write("in", "x y\n")
        self.ok("job", "run", "word_count", "-i", "file:in", "-o", "file:out")
        job, = self.json("job", "history")
        self.assertEqual((job["name"], job["state"]),
                         ("word_count", "succeeded"))
        counters = {c["counter"]: c["value"]
                    for c in self.json("job", "counters", job["job"])}
        self.assertEqual(counters["map.records"], 1)
        self.assertIn("file:in", self.ok("job", "status"))
        listed, = self.json("job", "list")
        self.assertEqual((listed["job"], listed["state"]),
                         (job["job"], "succeeded"))
        self.assertEqual(self.json("job", "list", "--ended", "0"), [])

    def test_list_shows_what_ended_last(self):
        """Of many jobs the list shows the newest ten, with their states."""
        self.write("in", "x y\n")
        for i in range(11):
            self.ok("job", "run", "word_count", "-i", "file:in", "-o",
                    "file:out%d" % i, "--local")
        self.run_quarry("job", "run", "--mapper", "exit 3", "-i", "file:in",
                        "-o", "file:bad")
        listed = self.json("job", "list")
        self.assertEqual([j["state"] for j in listed],
                         ["succeeded"] * 9 + ["failed"])
        self.assertEqual(len(self.json("job", "history")), 12)
        self.assertEqual([j["job"] for j in listed],
                         [j["job"] for j in self.json("job", "history")][2:])

    def test_running_job_is_listed(self):
        """A job at work is in the list as running, whatever has ended."""
        self.write("in", "x\n")
        job = self.start("job", "run", "--mapper", "sleep 900", "-i", "file:in",
                         "-o", "file:out")
        try:
            self.wait_to_see(lambda: [j["state"] for j in self.json(
                "job", "list", "--ended", "0")], lambda s: s == ["running"])
            one, = self.json("job", "list")
            self.ok("job", "kill", one["job"])
            self.assertEqual(job.wait(timeout=SECONDS_MAX), 1)
        finally:
            job.kill()
            job.wait()
        self.assertEqual([j["state"] for j in self.json("job", "list")],
                         ["killed"])

    def test_killed_job_leaves_nothing_for_long(self):
        """Files that a killed job left beside its output and in the history go
        with the next job on that output; those of a living job stay."""
        self.write("in", "x\n" * 10)

        def leftovers():
            work = [d for d in self.dirs_below("quarry-data")
                    if d.endswith("/work")]
            return work + [n for n in os.listdir(self.dir)
                           if n.startswith(".out.")]

        def start():
            before = len(leftovers())
            job = self.start("job", "run", "--mapper", "sleep 900", "-i",
                             "file:in", "-o", "file:out")
            self.wait_to_see(leftovers, lambda s: len(s) == before + 2 and
                             not any(n.endswith(".new") for n in s))
            self.wait_to_see(lambda: self.json("job", "list"),
                             lambda s: len(s) == before // 2 + 1)
            return job

        alive = start()
        dead = start()
        try:
            dead.send_signal(signal.SIGKILL)
            dead.wait()
            self.assertEqual(len(leftovers()), 4)
            done = self.run_quarry("job", "run", "word_count", "-i", "file:in",
                                   "-o", "file:out")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count(b"which a job that died"), 2)
            self.assertEqual(len(leftovers()), 2)
            self.assertIsNone(alive.poll())
            states = [j["state"] for j in self.json("job", "list")]
            self.assertEqual(states, ["running", "lost", "succeeded"])
        finally:
            for job in (alive, dead):
                job.kill()
                job.wait()
        self.ok("job", "run", "word_count", "-i", "file:in", "-o", "file:out",
                "--overwrite")
        self.assertEqual(leftovers(), [])

    def test_resume(self):
        """A job whose process was killed is lost, and continues when it is told
        to; a job that waits says why, and the history has the time of each
        phase."""
        self.write("in", "".join("line %d\n" % i for i in range(40)))
        job = self.start("job", "run", "--mapper",
                         "cat; touch $QUARRY_TASK.seen; "
                         "test -e go || sleep 900", "--reducer", "cut -f1",
                         "-i", "file:in", "-o", "file:out", "--split", "100",
                         "--workers", "2")
        try:
            self.wait_to_see(lambda: self.run_quarry("job", "status").stdout,
                             lambda s: b"all slots are taken" in s)
        finally:
            job.kill()
            job.wait()
        self.write("go", "")
        self.assertIn("quarry job resume", self.ok("job", "status"))
        self.assertIn("no job", self.fails(1, "job", "resume", "1999"))
        # The processes of the dead one end a moment later.
        self.wait_to_see(lambda: self.run_quarry("job", "resume", "last"),
                         lambda done: done.returncode == 0)
        self.assertEqual(len(self.result("out")), 40)
        status = self.ok("job", "status")
        self.assertIn("succeeded", status)
        self.assertRegex(status, r"map +\d+\.\d+ +[34] ")
        self.assertIn("has ended", self.fails(1, "job", "resume", "last"))

    def test_limits(self):
        """Limits and what the sandbox refuses are named; a job may ask for the
        network."""
        self.write("in", "x\n")
        connect = ("python3 -c 'import socket; "
                   "socket.socket().bind((\"127.0.0.1\", 0)); print(1)'")
        run = ["job", "run", "-i", "file:in", "-o", "file:out", "--no-skip"]
        done = self.run_quarry(*run, "--mapper", connect)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"Permission denied", done.stderr)
        self.ok(*run, "--mapper", connect, "--network")
        self.assertIn("--cpu", self.fails(2, *run, "--cpu", "soon", "--mapper",
                                          "cat"))
        self.assertIn("CPU time limit", self.fails(
            1, *run, "--overwrite", "--cpu", "1s", "--mapper",
            "while :; do :; done"))
        self.assertIn("side file words", self.fails(
            1, *run, "--overwrite", "--file", "words=nowhere", "--mapper",
            "cat"))

    def test_damaged_input(self):
        """Parts of a packed file that cannot be read are skipped, named and
        counted, or end the job with --no-skip."""
        parts = [gzip.compress(b"word%d\n" % i * 50) for i in range(4)]
        self.write("in.gz", parts[0] + parts[1][:25] + parts[2] + parts[3])
        done = self.run_quarry("job", "run", "word_count", "-i", "file:in.gz",
                               "-o", "file:out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"in.gz: near offset", done.stderr)
        self.assertIn(b"1 damaged place skipped", done.stderr)
        for line in ("word0\t50", "word2\t49", "word3\t50"):
            self.assertIn(line, self.result("out"))
        self.assertIn("in.gz: near offset", self.fails(
            1, "job", "run", "word_count", "-i", "file:in.gz", "-o",
            "file:out2", "--no-skip"))

    def test_catalogue(self):
        """Every job of the catalogue explains itself."""
        jobs = self.json("job", "catalogue")
        names = [j["job"] for j in jobs]
        for name in ("word_count", "link_graph", "inverted_index", "page_rank",
                     "top_hosts", "tera_sort", "url_frequency"):
            self.assertIn(name, names)
        for name in names:
            self.assertIn(name + ": ", self.ok("job", "catalogue", name))

    def test_failing_mapper(self):
        """The last words of a command that fails are in the error."""
        self.write("in", "x\n")
        message = self.run_quarry("job", "run", "--mapper",
                                  "echo no such luck >&2; exit 3", "--input",
                                  "file:in", "--output", "file:out")
        self.assertEqual(message.returncode, 1)
        self.assertIn(b"no such luck", message.stderr)
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual([j["state"] for j in self.json("job", "history")],
                         ["failed"])

    def test_errors(self):
        self.write("in", "x\n")
        self.assertIn("did you mean word_count?", self.fails(
            1, "job", "run", "wordcount", "-i", "file:in", "-o", "file:out"))
        self.assertIn("nothing*", self.fails(
            1, "job", "run", "word_count", "-i", "file:nothing*", "-o",
            "file:out"))
        self.assertIn("a table would be table:webtable", self.fails(
            1, "job", "run", "word_count", "-i", "webtable", "-o",
            "file:out"))
        self.assertIn("--input SPEC", self.fails(2, "job", "run",
                                                 "word_count"))
        self.fails(1, "job", "status", "nosuch")
        self.assertIn("there are: limit", self.fails(
            1, "job", "run", "top_hosts", "-i", "file:in", "-o", "file:out",
            "-p", "limt=3"))

    def test_failure_is_told_once(self):
        """The last failed attempt is the job's error: it has no note too."""
        self.write("in", "x\n")
        done = self.run_quarry("job", "run", "--mapper", "echo no >&2; exit 3",
                               "-i", "file:in", "-o", "file:out")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), len(set(
            line.split(" (see: ")[0] for line in lines)), lines)



class Outputs(CliTest):
    def test_lines_into_a_table(self):
        """A job that writes lines is refused a table before it runs."""
        self.table()
        self.write("in", "a b\n")
        self.write("sum.szl", "o: table sum of int;\nemit o <- 1;\n")
        for job, name in (("word_count", "word_count"), ("sum.szl", "sawzall")):
            said = self.fails(1, "job", "run", job, "-i", "file:in", "-o",
                              "table:t")
            self.assertIn("job " + name + " writes lines", said)
            self.assertNotIn("reduce", said)


if __name__ == "__main__":
    main()

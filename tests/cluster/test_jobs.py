"""Jobs on a cluster of real processes: every job gives what the local engine
gives, what is wrong is said with a remedy, and a job master or a worker that is
killed costs time and nothing else."""

import csv
import os
import random
import subprocess

from processes import ClusterTest, main
from harness import ROOT

TARGET = "cluster:quarry-cluster"
WORDS = ("apple", "bear", "cloud", "dust", "ember", "fern", "gale", "hill")

# A mapper that takes its time over each line.
SLOW = "while read -r l; do sleep 0.02; echo \"$l\"; done"


class JobsTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def serve(self, count, workers, tables=False):
        """A cluster whose job master sees @count workers."""
        cluster = self.loopback(count)
        self.wait_for(lambda: self.master(cluster, workers) is not None)
        if tables:
            self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                      for row in cluster.status()))
        return cluster

    @staticmethod
    def master(cluster, workers=0):
        """The node of the job master, if it sees @count workers."""
        for row in cluster.status():
            pairs = cluster.pairs(row)
            if (row["role"] == "jobs" and pairs.get("master") == "yes"
                    and int(pairs["workers"]) >= workers):
                return row["node"]
        return None

    def active_master(self, cluster):
        """The node of the master, once it answers: it may be slow to."""
        return self.wait_for(lambda: self.master(cluster))

    def text(self, name, lines, seed):
        rand = random.Random(seed)
        self.write(name, "".join(
            " ".join(rand.choices(WORDS, k=5)) + "\n" for _ in range(lines)))

    def local_output(self, name):
        """Lines of a local output, sorted."""
        lines = []
        for entry in sorted(os.listdir(self.path(name))):
            if entry.startswith("part-"):
                with open(self.path(os.path.join(name, entry))) as f:
                    lines += f.readlines()
        return sorted(lines)

    def cell_output(self, name):
        lines = []
        for row in self.json("fs", "ls", name):
            path = row["path"]
            if os.path.basename(path).startswith("part-"):
                lines += self.ok("fs", "cat", path).splitlines(True)
        return sorted(lines)

    def same(self, *job, out="out"):
        """The job's output is what the local engine's is."""
        self.ok("job", "run", *job, "-o", "file:" + out)
        self.ok("job", "run", "--here", *job, "-o", "file:" + out)
        there = self.cell_output(out)
        self.assertTrue(there)
        self.assertEqual(there, self.local_output(out))


class Results(JobsTest):
    """The same as on one machine."""

    def test_summary(self):
        """The summary counts tasks as one of a job in a directory does, also
        where map and reduce were one attempt."""
        self.serve(1, 1)
        self.write("in.txt", "one two\ntwo\n")
        self.ok("fs", "put", "in.txt", "/in.txt")
        run = ("job", "run", "word_count", "--input", "file:in.txt")
        for more, reduces in (((), 1), (("--reducers", "2"), 2)):
            here, = self.json(*run, "--output", "file:o%d" % reduces, *more,
                              "-t", "file:here")
            there, = self.json(*run, "--output", "file:o%d" % reduces, *more)
            for row in (here, there):
                self.assertEqual((row["map_tasks"], row["reduce_tasks"]),
                                 (1, reduces))

    def test_files(self):
        """Jobs over files, in each of the ways to write one."""
        self.serve(1, 1)
        self.text("a.txt", 3000, 1)
        self.text("b.txt", 500, 2)
        self.write("links.txt", "a b\nb c\nc a\nd a\na d\n")
        self.write("count.szl", "c: table sum[string] of int;\n"
                   "s: string = string(input);\nemit c[s] <- 1;\n")
        self.write("names", "name\n")
        os.mkdir(self.path("in"))
        for name in ("a.txt", "b.txt"):
            os.rename(self.path(name), self.path("in/" + name))
            self.ok("fs", "put", "in/" + name, "in/" + name)
        self.ok("fs", "put", "links.txt", "links.txt")
        both = ("-i", "file:in/*.txt")
        self.same("word_count", *both, "--split", "20KiB", out="words")
        self.same("tera_sort", *both, out="sorted")
        self.same("count.szl", *both, out="saw")
        self.same("page_rank", "-p", "iterations=3", "-i", "file:links.txt",
                  out="ranks")
        self.same("--mapper", "tr ' ' '\\n'", "--reducer",
                  "cut -f1 | uniq -c", *both, out="commands")
        self.same("--mapper", "cat \"$QUARRY_FILE_names\"", "--file",
                  "names=names", "-i", "file:links.txt", out="sides")
        job = self.json("job", "list")[-1]
        self.assertEqual(job["state"], "succeeded")
        self.assertTrue(self.json("job", "counters", job["job"]))

    def crawl(self):
        """A made-up crawl, and a log of requests for its pages; both there and
        here."""
        with open(self.path("crawl.warc"), "wb") as f:
            subprocess.run([os.path.join(ROOT, "examples", "webtable",
                                         "make_crawl.py"), "120"], stdout=f,
                           check=True)
        rand = random.Random(4)
        self.write("access.log", "".join(
            '10.0.0.%d - - [05/May/2024:10:00:%02d +0000] "GET /page%d '
            'HTTP/1.1" 200 %d "-" "curl/8"\n' % (
                rand.randrange(9), i % 60, rand.randrange(12),
                rand.randrange(5000)) for i in range(900)))
        for name in ("crawl.warc", "access.log"):
            self.ok("fs", "put", name, name)

    def test_crawl(self):
        """The jobs that come with Quarry, over files and over a Webtable, and
        the programs beside them."""
        self.serve(1, 1, tables=True)
        self.crawl()
        archive = ("-i", "warc:crawl.warc")
        self.same("link_graph", *archive, out="links")
        self.same("inverted_index", *archive, out="index")
        self.same("top_hosts", *archive, out="hosts")
        self.same("url_frequency", "-i", "file:access.log", out="urls")
        self.ok("import", "warc", "crawl.warc", "--into", "web")
        for row in ("example.bread.www/page3", "example.harbour"):
            self.ok("table", "split", "web", row)
        self.same("link_graph", "-i", "table:web?columns=anchor:",
                  out="web_links")
        self.same("page_rank", "-p", "iterations=4", "-i",
                  "table:web?columns=anchor:", out="web_ranks")
        self.same("inverted_index", "-i", "table:web?columns=contents:,http:",
                  out="web_index")
        self.same("top_hosts", "-i", "table:web?columns=http:url",
                  out="web_hosts")
        self.same("url_frequency", "-i", "table:web", out="web_urls")
        programs = [p for p in sorted(os.listdir(os.path.join(ROOT, "jobs")))
                    if p.endswith(".szl")]
        self.assertTrue(programs)
        for p in programs:
            self.same(os.path.join(ROOT, "jobs", p), "-i", "table:web",
                      out=p.replace(".", "_"))

    def scan(self, table, *options):
        """Its cells without their times."""
        rows = csv.DictReader(self.ok("scan", table, *options, "--format",
                                      "csv").splitlines())
        return [tuple(value for name, value in row.items()
                      if not name.startswith("time")) for row in rows]

    def test_loads(self):
        """A job loads as SSTables the rows that it would have written, in a
        table of several tablets on several servers."""
        self.serve(3, 3, tables=True)
        self.crawl()
        for table in ("slow", "fast", "here"):
            self.ok("table", "create", table, "--family", "link")
            for row in ("example.bread.www/", "example.knots"):
                self.ok("table", "split", table, row)
        job = ("job", "run", "link_graph", "-i", "warc:crawl.warc",
               "--reducers", "3")
        self.ok(*job, "-o", "table:slow")
        self.ok(*job, "-o", "table:fast?bulk=yes")
        self.assertTrue(self.scan("slow"))
        self.assertEqual(self.scan("fast"), self.scan("slow"))
        self.ok(*job, "--here", "-o", "table:here?bulk=yes")
        self.assertEqual(self.scan("here"), self.scan("slow"))
        self.assertIn("bulk=yes", self.fails(
            1, "job", "run", "--mapper",
            "awk '{print $1 \"\\tlink:x\\t1\"}'", "-i", "warc:crawl.warc",
            "-o", "table:fast?bulk=yes"))
        self.assertEqual(self.scan("fast"), self.scan("slow"))

    def test_tables(self):
        """A job reads a table and writes another; and its own, of which it
        sees what was there when it began."""
        self.serve(1, 1, tables=True)
        self.table("t")
        self.table("u")
        for i in range(30):
            self.ok("put", "t", "r%02d" % i, "f:n=%d" % i)
        copy = ("job", "run", "--mapper", "cut -f1,2,4", "-i", "table:t")
        self.ok(*copy, "-o", "table:u")
        self.assertEqual(len(self.json("scan", "u")), 30)
        self.ok("job", "run", "--mapper",
                "awk -F'\\t' '{print \"new\" $1 \"\\t\" $2 \"\\t\" $4}'",
                "-i", "table:t", "-o", "table:t")
        self.assertEqual(len(self.json("scan", "t")), 60)


    def test_table_changes(self):
        """While a job reads a table, it is written to, and the job master dies:
        the job sees what was there when it began, and what it writes there
        itself comes on top of it all."""
        cluster = self.serve(3, 3, tables=True)
        self.table("t")
        for i in range(12):
            self.ok("put", "t", "r%02d" % i, "f:n=old")
        for row in ("r03", "r06", "r09"):
            self.ok("table", "split", "t", row)
        # The first task waits, and those behind it with it, for a file that
        # the sandbox would not show.
        job = self.ok(
            "job", "run", "--detach", "--no-sandbox", "--slots", "1", "--mapper",
            "while [ ! -e '%s' ]; do sleep 0.1; done; "
            "awk -F'\\t' '{print \"new\" $1 \"\\t\" $2 \"\\t\" $4}'" %
            self.path("go"), "-i", "table:t", "-o", "table:t").split()[0]

        def row():
            row, = self.json("job", "status", job)
            return row
        self.wait_for(lambda: int(row()["tasks"]) == 4)
        for i in range(12):
            self.ok("put", "t", "r%02d" % i, "f:n=young")
            self.ok("put", "t", "r%02d+" % i, "f:n=young")
        name = self.active_master(cluster)
        cluster.kill(name)
        cluster.start(name)
        self.write("go", "")
        self.wait_for(lambda: self.run_quarry("job", "status", job).returncode
                      == 0 and row()["state"] != "running", 240)
        self.assertEqual(row()["state"], "succeeded")
        self.assertIn("4 of 4 map tasks ran beside their input",
                      self.ok("job", "status", job))
        made = self.scan("t", "--prefix", "new")
        self.assertEqual([(cell[0], cell[-1]) for cell in made],
                         [("newr%02d" % i, "old") for i in range(12)])
        self.assertEqual(len(self.json("scan", "t", "--prefix", "r",
                                       "--versions", "1")), 24)
        self.wait_for(lambda: [r["table"] for r in self.json("table", "list")]
                      == ["t"])


class Mistakes(JobsTest):
    """Messages to the user."""

    def test_messages(self):
        """A file that is here and not there, an output that is there, a mapper
        that fails, an unknown job, a job that is killed."""
        self.serve(1, 1)
        self.text("here.txt", 10, 1)
        said = self.fails(1, "job", "run", "word_count", "-i",
                          "file:here.txt", "-o", "file:x")
        self.assertIn("quarry fs put", said)
        self.ok("fs", "put", "here.txt", "there.txt")
        self.ok("job", "run", "word_count", "-i", "file:there.txt", "-o",
                "file:x")
        self.assertIn("exists already", self.fails(
            1, "job", "run", "word_count", "-i", "file:there.txt", "-o",
            "file:x"))
        self.ok("job", "run", "word_count", "-i", "file:there.txt", "-o",
                "file:x", "--overwrite")
        said = self.fails(1, "job", "run", "--mapper",
                          "echo oh no >&2; exit 3", "-i", "file:there.txt",
                          "-o", "file:y")
        self.assertIn("oh no", said)
        self.assertIn("quarry job status", said)
        self.fails(1, "fs", "ls", "y")
        job = self.ok("job", "run", "--detach", "--mapper", "sleep 600", "-i",
                      "file:there.txt", "-o", "file:z").split()[0]
        self.ok("job", "kill", job)
        self.wait_for(lambda: self.state(job) == "killed")
        self.fails(1, "job", "kill", job)

    def test_waiting(self):
        """A waiting job says why: memory that no worker has, its own bound,
        and the slots that are taken."""
        self.serve(1, 1)
        self.text("a.txt", 1000, 4)
        self.ok("fs", "put", "a.txt", "a.txt")
        jobs = []
        for out, options, why in (
                ("none", ("--memory", "10TiB"),
                 "1 map attempt waits: no worker has the memory an attempt needs"),
                ("one", ("--split", "1KiB", "--slots", "1"),
                 "attempts wait: the job has all the slots it may have (1)"),
                ("two", ("--split", "1KiB"),
                 "attempts wait for a free slot: 1 worker with ")):
            job = self.ok("job", "run", "--detach", "--mapper", "sleep 600",
                          "--no-backups", *options, "-i", "file:a.txt", "-o",
                          "file:" + out).split()[0]
            jobs.append(job)
            self.wait_for(lambda j=job, w=why: w in self.status(j))
        for job in jobs:
            self.ok("job", "kill", job)
            self.wait_for(lambda j=job: self.state(j) == "killed")

    def status(self, job):
        """The printed status of the job; empty while it is being submitted."""
        return self.run_quarry("job", "status", job).stdout.decode()

    def state(self, job):
        row, = self.json("job", "status", job)
        return row["state"]


class Deaths(JobsTest):
    """Any process may die: the output is there once, and whole."""

    def start_slow(self):
        self.text("a.txt", 400, 3)
        self.ok("fs", "put", "a.txt", "in/a.txt")
        slower = SLOW.replace("0.02", "0.06")
        return self.ok("job", "run", "--detach", "--mapper", slower,
                       "--reducer", SLOW.replace("0.02", "0.002"),
                       "--reducers", "2", "--split", "1KiB", "-i",
                       "file:in/a.txt", "-o", "file:out").split()[0]

    def row(self, job):
        row, = self.json("job", "status", job)
        return row

    def await_done(self, job, tasks):
        """Wait until @count maps are done, or, on a machine that is slower at
        asking than at running them, the job."""
        def done():
            row = self.row(job)
            return int(row["done"]) >= tasks or row["state"] != "running"
        self.wait_for(done)

    def expect_all(self, job):
        def ended():
            done = self.run_quarry("job", "status", job, "--format", "json")
            return done.returncode == 0 and b"running" not in done.stdout
        self.wait_for(ended, 240)
        self.assertEqual(self.row(job)["state"], "succeeded",
                         self.run_quarry("job", "status", job).stdout)
        with open(self.path("a.txt")) as f:
            want = sorted(f.readlines())
        got = sorted(line.rstrip("\t\n") + "\n"
                     for line in self.cell_output("out"))
        self.assertEqual(got, want)
        self.assertEqual([row["path"] for row in self.json("fs", "ls", "/")
                          if "." in os.path.basename(row["path"])], [])

    def test_job_master(self):
        """The job master is killed while maps run, and its successor while
        more of them do."""
        cluster = self.serve(3, 3)
        job = self.start_slow()
        for done in (3, 8):
            self.await_done(job, done)
            name = self.master(cluster)
            if name:
                cluster.kill(name)
                cluster.start(name)
            self.wait_for(lambda: self.master(cluster) is not None)
        self.expect_all(job)

    def test_worker(self):
        """A node with a worker that is not the job master is killed."""
        cluster = self.serve(3, 3)
        job = self.start_slow()
        self.await_done(job, 4)
        master = self.active_master(cluster)
        other = [n for n in cluster.names if n != master][0]
        cluster.kill(other)
        cluster.start(other)
        self.expect_all(job)

    def test_last_of_its_cell(self):
        """The job master with a job under way stops, though nobody is left to
        take what it would write down."""
        cluster = self.serve(3, 3)
        job = self.start_slow()
        self.await_done(job, 1)
        master = self.active_master(cluster)
        for name in cluster.names:
            if name != master:
                cluster.kill(name)
        cluster.stop(master)
        self.assertIn("server stopped", cluster.log(master))


if __name__ == "__main__":
    main()

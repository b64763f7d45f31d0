"""Workers of real processes that are killed or stopped in the midst of maps and
of reduces: the job ends with what the local engine gives. Code that crashes on
a worker is reported with task, attempt, worker and its last words."""

import os
import signal
import subprocess

from processes import CELL, QUARRY, SECONDS, ClusterTest, main

TARGET = "cluster:quarry-cluster"
# A slow job: a second for each split, or for each partition, and until
# the test has seen it.
SLOW = "while [ ! -e '%s' ]; do sleep 0.1; done; sleep 1; cat"
# The first split waits until the test has seen what it wants; no other does.
FIRST_WAITS = ("[ $QUARRY_TASK != 0 ] || while [ ! -e '%s' ]; do sleep 0.1; "
               "done; cat")
# Each worker counts as a machine.
APART = "\n[worker]\nno-short-circuit = true\n"
LINES = 1200  # More maps than reduces: by that the phase is known.
REDUCES = 4


class WorkersTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def serve(self, count, settings=""):
        """@count nodes, all with these settings besides."""
        cluster = self.loopback(count, settings=settings)

        def ready():
            done = self.run_quarry("job", "workers", "--format", "json")
            return (done.returncode == 0 and
                    done.stdout.count(b'"up"') >= count)
        self.wait_for(ready)
        text = "".join("word%d\n" % (i * 7919 % 97) for i in range(LINES))
        self.write("in.txt", text)
        self.ok("fs", "put", "in.txt", "/in.txt")
        return cluster

    def begin(self, mapper, reducer):
        """A job of several maps and reduces, in the background."""
        mapper, reducer = [w.replace("%s", self.path("go"))
                           for w in (mapper, reducer)]
        return subprocess.Popen(
            # They wait for a file that the sandbox would not show.
            [QUARRY, "job", "run", "--no-sandbox", "--mapper", mapper,
             "--reducer", reducer,
             "--input", "file:/in.txt", "--output", "file:/out", "--split",
             "1KiB", "--reducers", str(REDUCES), "--quiet"],
            cwd=self.dir, env=self.env, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def await_phase(self, job, phase):
        def there():
            if job.poll() is not None:
                self.fail("the job has ended: " + job.stdout.read())
            for row in self.json("job", "list"):
                if row["state"] == "running" and row["tasks"] > 1:
                    return (row["tasks"] == REDUCES) == (phase == "reduce")
            return False
        self.wait_for(there)

    def check(self, job):
        self.write("go", "")
        said = job.communicate(timeout=400)[0]
        self.assertEqual(job.returncode, 0, said)
        lines = []
        for row in self.json("fs", "ls", "/out"):
            if os.path.basename(row["path"]).startswith("part-"):
                lines += self.ok("fs", "cat", row["path"]).split("\n")
        want = sorted("word%d" % (i * 7919 % 97) for i in range(LINES))
        self.assertEqual(sorted(line.strip() for line in lines
                                if line.strip()), want)

    def not_the_master(self, cluster):
        """A node whose end leaves the job its master."""
        for row in cluster.status():
            if (row["role"] == "jobs" and
                    cluster.pairs(row).get("master") == "no"):
                return row["node"]
        return self.fail("no node is free")

    def test_before_its_master(self):
        """The first job master of a cell is waited for, and then its first
        worker: what is asked of a cell that has just been started is not done
        here instead."""
        c = self.loopback(3, CELL)
        self.write("in.txt", "one\ntwo\n")
        self.ok("fs", "put", "in.txt", "/in.txt")
        run = ("job", "run", "--mapper", "cat", "--input", "file:in.txt",
               "--output", "file:out", "--quiet")
        self.env["QUARRY_TIMEOUT"] = "1s"

        def told(command):
            """A busy machine may get no answer in so short a time."""
            message = self.fails(1, *command)
            return "job master" in message and "with the role jobs" in message
        for command in (run, ("job", "list"), ("job", "status"),
                        ("job", "kill", "2026"), ("job", "workers")):
            self.wait_for(lambda c=command: told(c))
        self.assertFalse(os.path.exists(self.path("out")))
        self.env["QUARRY_TIMEOUT"] = "%ds" % SECONDS
        job = subprocess.Popen([QUARRY, *run], cwd=self.dir, env=self.env,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        for roles, why in ((",jobs", b"no worker is up"),
                           (",jobs,worker", b"succeeded")):
            c.stop("n3")
            c.set_roles("n3", CELL + roles)
            c.start("n3")
            self.wait_for(lambda w=why: w in self.run_quarry(
                "job", "status").stdout)
        said = job.communicate(timeout=SECONDS)[0]
        self.assertEqual(job.returncode, 0, said)
        self.assertEqual(self.ok("fs", "cat", "/out/part-00000"),
                         "one\t\ntwo\t\n")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_killed_in_maps(self):
        """kill -9 of a worker while maps run."""
        c = self.serve(3)
        job = self.begin(SLOW, "cat")
        self.await_phase(job, "map")
        c.kill(self.not_the_master(c))
        self.check(job)

    def test_killed_in_reduces(self):
        """kill -9 of a worker whose maps are done: what they left is made
        again."""
        c = self.serve(3)
        job = self.begin("cat", SLOW)
        self.await_phase(job, "reduce")
        c.kill(self.not_the_master(c))
        self.check(job)

    def test_stopped(self):
        """SIGSTOP of a worker: what it had begun is done elsewhere."""
        c = self.serve(3)
        job = self.begin(SLOW, "cat")
        self.await_phase(job, "map")
        victim = self.not_the_master(c)
        c.pause(victim)
        self.check(job)
        c.resume(victim)

    def test_fetching(self):
        """Workers that may not open each other's files send what maps left,
        while a third is killed."""
        c = self.serve(3, APART)
        job = self.begin("cat", SLOW)
        self.await_phase(job, "reduce")
        c.kill(self.not_the_master(c))
        self.check(job)
        roles = [c.roles(name).get("worker", {}) for name in c.names]
        self.assertGreater(sum(int(r.get("fetched", 0)) for r in roles), 0)
        self.assertGreater(sum(int(r.get("served", 0)) for r in roles), 0)

    def early(self, cluster):
        """Bytes that workers say they have brought while maps ran."""
        return sum(int(cluster.roles(name).get("worker", {}).get("early", 0))
                   for name in cluster.names)

    def counters(self):
        return {row["counter"]: int(row["value"])
                for row in self.json("job", "counters", "last")}

    def files_of_jobs(self, cluster):
        """The files left below the workers' directories."""
        found = []
        for name in cluster.names:
            for at, _, files in os.walk(os.path.join(cluster.dir(name),
                                                     "worker")):
                found += [os.path.join(at, f) for f in files]
        return found

    def test_pulled_early(self):
        """The output of maps is brought to its reduces while the last
        map still runs, the result is that of one machine, and nothing of it
        stays on a disk."""
        c = self.serve(3, APART)
        job = self.begin(FIRST_WAITS, "cat")
        self.wait_for(lambda: self.early(c) > 0)
        self.await_phase(job, "map")
        before = self.early(c)
        self.assertTrue([f for f in self.files_of_jobs(c)
                         if f.endswith(".pull")])
        self.check(job)
        counters = self.counters()
        self.assertGreater(counters["shuffle.early_bytes"], 0)
        self.assertGreaterEqual(counters["shuffle.fetched_bytes"],
                                counters["shuffle.early_bytes"])
        # The runs pulled by a worker that was taken for dead are pulled again, by
        # then maybe from its last map, too.
        if not any(" is silent" in c.log(name) for name in c.names):
            self.assertGreaterEqual(counters["shuffle.early_bytes"], before)
        self.assertIn("early", self.ok("job", "status", "last"))
        self.ok("-t", "file:here", "job", "run", "--mapper", "cat", "--reducer",
                "cat", "--input", "file:" + self.path("in.txt"), "--output",
                "file:" + self.path("alone"), "--reducers", str(REDUCES))
        for part in range(REDUCES):
            name = "part-%05d" % part
            with open(os.path.join(self.path("alone"), name)) as f:
                self.assertEqual(self.ok("fs", "cat", "/out/" + name), f.read())
        self.wait_for(lambda: not self.files_of_jobs(c))

    def test_job_killed_while_pulling(self):
        """Nothing of a job that is killed stays where it was pulled to."""
        c = self.serve(2, APART)
        job = self.begin(FIRST_WAITS, "cat")
        self.wait_for(lambda: self.early(c) > 0)
        self.assertTrue(self.files_of_jobs(c))
        self.ok("job", "kill", "last")
        self.assertNotEqual(job.wait(timeout=SECONDS), 0)
        self.wait_for(lambda: not self.files_of_jobs(c))

    def test_killed_after_pulling(self):
        """kill -9 of a worker that has pulled, and from which was pulled, while
        the last map runs."""
        c = self.serve(3, APART)
        job = self.begin(FIRST_WAITS, "cat")
        self.wait_for(lambda: self.early(c) > 0)
        c.kill(self.not_the_master(c))
        self.check(job)

    def test_nothing_is_pulled(self):
        """Where files can be opened, or pulling is off, nothing is copied."""
        c = self.serve(2)
        self.ok("job", "run", "--mapper", "cat", "--reducer", "cat", "--input",
                "file:/in.txt", "--output", "file:/near", "--split", "1KiB",
                "--reducers", "4", "--quiet")
        self.assertNotIn("shuffle.fetched_bytes", self.counters())
        for name in c.names:
            with open(os.path.join(c.dir(name), "server.conf"), "a") as f:
                f.write("\n[worker]\nno-short-circuit = true\nearly = 0\n")
            c.stop(name)
        self.ok("cluster", "start")
        self.wait_for(lambda: self.run_quarry(
            "job", "workers", "--format", "json").stdout.count(b'"up"') >= 2)
        self.ok("job", "run", "--mapper", "sleep 0.5; cat", "--reducer", "cat",
                "--input", "file:/in.txt", "--output", "file:/far", "--split",
                "1KiB", "--reducers", "4", "--quiet")
        self.assertGreater(self.counters()["shuffle.fetched_bytes"], 0)
        self.assertEqual(self.counters()["shuffle.early_bytes"], 0)

    def in_reserve(self, pid):
        """The programs that wait for a job below the server @pid."""
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            threads = f.read().split()
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, thread)) as f:
                threads += f.read().split()
        return sorted({int(child) for child in threads})

    def test_program_in_reserve(self):
        """A job is given to the program that waits for it, and another waits
        for the next; when that one was killed, the job starts its own."""
        c = self.serve(1)
        server = c.pid("n1")
        self.wait_for(lambda: len(self.in_reserve(server)) == 1)
        for kill in (False, True):
            first, = self.in_reserve(server)
            if kill:
                os.kill(first, signal.SIGKILL)
            self.ok("job", "run", "word_count", "--input", "file:/in.txt",
                    "--output", "file:/out%d" % kill, "--quiet")
            self.wait_for(lambda n=first: len(self.in_reserve(server)) == 1
                          and n not in self.in_reserve(server))

    def test_crash(self):
        """Code that dies is reported with task, attempt, worker and its last
        words; nothing of the output is there."""
        self.serve(1)
        done = self.run_quarry("job", "run", "--mapper",
                           "echo about to die >&2; kill -SEGV $$",
                           "--reducer", "cat", "--input", "file:/in.txt",
                           "--output", "file:/dead", "--quiet")
        self.assertNotEqual(done.returncode, 0)
        for part in ("attempt", " on n1", "about to die"):
            self.assertIn(part, done.stderr.decode())
        self.assertNotEqual(self.run_quarry("fs", "ls", "/dead").returncode, 0)


if __name__ == "__main__":
    main()

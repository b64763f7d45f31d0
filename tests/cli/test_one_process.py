"""One process writes a directory: others that would write are refused or wait,
also when its lock file was removed. Any number read it, meanwhile and later."""

import os
import stat
import subprocess
import time

from harness import QUARRY, CliTest, Terminal, main


class OneProcess(CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("a directory has one process")
        self.table()
        self.ok("put", "t", "r", "f:q=v")

    def shell(self):
        """A shell that has the directory open."""
        t = Terminal(self, "shell")
        t.prompt()
        t.line("count t")
        t.prompt()
        return t

    def test_refused(self):
        """The message says who has it, and what can be done."""
        t = self.shell()
        write = ["put", "t", "s", "f:q=v"]
        said = self.fails(1, *write)
        self.assertRegex(said, r'in use by process %d, "quarry shell", since '
                         r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ" % t.pid)
        self.assertIn("--wait", said)
        self.fails(2, *write, "--wait", "soon")
        begin = time.monotonic()
        self.fails(1, *write, "--wait", "1")
        self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_waits(self):
        """With --wait a command takes its turn."""
        t = self.shell()
        put = subprocess.Popen(
            [QUARRY, "put", "t", "s", "f:q=v", "--wait", "120"], cwd=self.dir,
            env=self.env, stderr=subprocess.PIPE)
        self.assertIn(b"waiting: ", put.stderr.readline())
        t.type("\x04")
        t.close()
        said = put.communicate(timeout=300)[1]
        self.assertEqual(put.returncode, 0, said)

    def test_every_writer(self):
        """Whatever would write, or must have the directory alone, says who has
        it, and that one can wait."""
        t = self.shell()
        self.write("in.csv", "key,v\n1,2\n")
        self.write("in.tsv", "r\tf:q\t1\tv\n")
        job = ["job", "run", "top_hosts", "--input", "table:t"]
        for command in (
                ["table", "create", "u", "--family", "f"],
                ["table", "alter", "t", "--add-family", "g"],
                ["table", "drop", "t"], ["table", "split", "t", "m"],
                ["table", "compact", "t"], ["table", "unprotect", "t"],
                ["put", "t", "r", "f:q=w"], ["delete", "t", "r"],
                ["incr", "t", "r", "f:n"],
                ["check-and-put", "t", "r", "--if", "f:q=v", "f:q=w"],
                ["import", "csv", "in.csv", "--into", "u"],
                ["load", "t", "in.tsv"], ["table", "snapshot", "t", "s"],
                ["check", "quarry-data"],
                job + ["--output", "file:out"],
                job[:2] + ["--mapper", "cat", "--input", "file:in.csv",
                           "--output", "table:t"]):
            done = self.run_quarry(*command)
            said = done.stderr.decode()
            self.assertEqual(done.returncode, 1, (command, said))
            self.assertIn("in use by process %d" % t.pid, said, command)
            self.assertIn("--wait SECONDS", said, command)
        t.line("exit")
        t.close()

    def test_job_waits(self):
        """A job takes its turn as any other command."""
        t = self.shell()
        job = subprocess.Popen(
            [QUARRY, "job", "run", "--mapper", "cat", "--input", "table:t",
             "--output", "file:out", "--wait", "120"], cwd=self.dir,
            env=self.env, stderr=subprocess.PIPE)
        self.assertIn(b"waiting: ", job.stderr.readline())
        t.line("exit")
        t.close()
        said = job.communicate(timeout=300)[1]
        self.assertEqual(job.returncode, 0, said)

    def many_at_once(self):
        """Several readers at once, of every kind; each sees the row."""
        commands = [["count", "t"], ["scan", "t"], ["get", "t", "r"],
                    ["export", "t", "-"], ["table", "describe", "t"],
                    ["count", "t"]]
        running = [subprocess.Popen([QUARRY, *c], cwd=self.dir, env=self.env,
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE) for c in commands]
        for c, p in zip(commands, running):
            out, said = p.communicate(timeout=300)
            self.assertEqual(p.returncode, 0, "%s: %s" % (c, said))
            self.assertTrue(out)

    def test_readers_share(self):
        self.many_at_once()

    def test_readers_beside_writer(self):
        """A reader sees what was put a moment ago, and does not wait."""
        t = self.shell()
        t.line("put t s f:q=v")
        t.prompt()
        self.assertEqual(self.json("count", "t")[0]["rows"], 2)
        self.many_at_once()
        t.type("\x04")
        t.close()

    def everything(self):
        """Names, sizes and times of what the directory holds."""
        seen = {}
        for where, _, files in os.walk(self.path("quarry-data")):
            for name in files + ["."]:
                s = os.stat(os.path.join(where, name))
                seen[where, name] = (s.st_size, s.st_mtime_ns)
        return seen

    def test_read_only_directory(self):
        """Reading needs no right to write, and leaves no trace."""
        user = {"user": 65534} if os.geteuid() == 0 else {}
        for where, _, files in os.walk(self.dir):
            os.chmod(where, 0o555)
            for name in files:
                os.chmod(os.path.join(where, name), 0o444)
        before = self.everything()
        done = subprocess.run([QUARRY, "count", "t", "--format", "json"],
                              cwd=self.dir, env=self.env, **user, timeout=300,
                              check=False, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b'"rows": 1', done.stdout)
        self.assertEqual(self.everything(), before)
        for where, _, _ in os.walk(self.dir):
            os.chmod(where, stat.S_IRWXU)

    def test_lock_file_removed(self):
        """Removing LOCK does not get a second process in."""
        t = self.shell()
        os.remove(self.path("quarry-data/LOCK"))
        self.assertIn("in use by another process",
                      self.fails(1, "put", "t", "s", "f:q=v"))
        t.line("count t")
        self.assertIn("1", t.prompt())
        t.type("\x04")
        t.close()
        self.ok("put", "t", "s", "f:q=v")
        self.assertEqual(self.json("count", "t")[0]["rows"], 2)


if __name__ == "__main__":
    main()

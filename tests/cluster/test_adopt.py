"""A cluster adopts the tables of a directory: they are equal to the last cell,
whatever moment the command is killed in and called again."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

from processes import QUARRY, ClusterTest, main

ROWS = 3000
KILLS = int(os.environ.get("QUARRY_ADOPT_KILLS", "3"))


class AdoptTest(ClusterTest):
    def make(self):
        """A directory with two tables: several files, deletions, versions,
        rows that were never flushed."""
        self.store = "file:" + self.path("store")
        rng = random.Random(5)
        self.ok("table", "create", "web", "--family", "a,versions=3",
                "--family", "b,group=z", "--group", "z", "-t", self.store)
        self.ok("table", "create", "small", "--family", "f", "--changes", "7d",
                "-t", self.store)
        for part in range(3):
            with open(self.path("rows.tsv"), "w") as f:
                for i in range(part * ROWS, (part + 1) * ROWS):
                    f.write("r%06d\ta:q\t%d\t%s\n" % (
                        i, i + 1, rng.randbytes(40).hex()))
            self.ok("load", "web", "rows.tsv", "-t", self.store, "--id",
                    "part%d" % part)
        self.ok("table", "split", "web", "r004000", "-t", self.store)
        self.ok("delete", "web", "r000002", "-t", self.store)
        for i in range(3):
            self.ok("put", "web", "r000001", "a:q=%d" % i, "b:new=%d" % i,
                    "-t", self.store)
        self.ok("put", "small", "x", "f:y=1", "-t", self.store)

    def cells(self, table, target):
        return self.ok("scan", table, "--versions", "99", "--format", "json",
                       "-t", target)

    def start_adopt(self, *words):
        return subprocess.Popen(
            [QUARRY, "cluster", "adopt", self.path("store"), "-q", "-t",
             self.cluster, *words], cwd=self.dir, env=self.env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tables(self, target):
        out = self.ok("table", "list", "--format", "json", "-t", target)
        return sorted(json.loads(line)["table"] for line in out.splitlines())

    def test_adopt(self):
        c = self.loopback(1)
        self.cluster = "cluster:" + os.path.join(self.dir, c.data)
        self.make()
        before = {t: self.cells(t, self.store) for t in ("web", "small")}
        # One that the cluster has is not changed.
        self.ok("table", "create", "small", "--family", "f", "-t",
                self.cluster)
        done = self.run_quarry("cluster", "adopt", self.path("store"),
                               "--table", "small", "-t", self.cluster)
        self.assertEqual(done.returncode, 1)
        self.assertIn("table small exists already", done.stderr.decode())
        self.assertEqual(self.cells("small", self.cluster), "")
        self.ok("table", "drop", "small", "-t", self.cluster)
        # Nor is a directory taken that another process has open.
        shell = subprocess.Popen([QUARRY, "shell", "-t", self.store],
                                 stdin=subprocess.PIPE, env=self.env,
                                 stdout=subprocess.PIPE, cwd=self.dir)
        shell.stdin.write(b"put small x f:y=1\nget small x\n")
        shell.stdin.flush()
        shell.stdout.readline()
        done = self.run_quarry("cluster", "adopt", self.path("store"), "-t",
                               self.cluster)
        self.assertEqual(done.returncode, 1)
        self.assertIn("in use by process", done.stderr.decode())
        shell.stdin.close()
        shell.wait()
        shell.stdout.close()
        before["small"] = self.cells("small", self.store)
        shutil.copytree(self.path("store"), self.path("kept"))
        # Killed at random moments and called again: all of it, once.
        rng = random.Random(int(os.environ.get("QUARRY_SEED", "11")))
        for _ in range(KILLS):
            adopt = self.start_adopt("--drop")
            time.sleep(rng.uniform(0.05, 2.5))
            adopt.send_signal(signal.SIGKILL)
            adopt.wait()
        said = self.ok("cluster", "adopt", self.path("store"), "--drop", "-t",
                       self.cluster)
        self.assertIn("dropped from the directory", said)
        for table, cells in before.items():
            self.assertEqual(self.cells(table, self.cluster), cells, table)
        self.assertEqual(self.tables(self.store), [])
        out = self.ok("snapshot", "list", "--format", "json", "-t", self.store)
        self.assertEqual(out, "")
        # Without --drop the directory is as it was; another name.
        shutil.rmtree(self.path("store"))
        os.rename(self.path("kept"), self.path("store"))
        self.ok("cluster", "adopt", self.path("store"), "--table", "web=web2",
                "-t", self.cluster)
        self.assertEqual(self.cells("web2", self.cluster), before["web"])
        self.assertEqual(self.cells("web", self.store), before["web"])
        self.ok("put", "web2", "new", "a:x=1", "-t", self.cluster)
        self.ok("check", "-t", self.store)

    def test_encrypted(self):
        """Its master key opens it, and no other."""
        c = self.loopback(1)
        cluster = "cluster:" + os.path.join(self.dir, c.data)
        for name in ("right", "wrong"):
            with open(self.path(name), "w") as f:
                f.write(os.urandom(32).hex() + "\n")
            os.chmod(self.path(name), 0o600)
        store = ("-t", "file:" + self.path("store"), "--encryption-key",
                 self.path("right"))
        self.ok("table", "create", "t", "--family", "f", *store)
        self.ok("put", "t", "r", "f:q=1", *store)
        before = self.ok("scan", "t", "--format", "json", *store)
        for key in ([], ["--encryption-key", self.path("wrong")]):
            done = self.run_quarry("cluster", "adopt", self.path("store"), "-t",
                                   cluster, *key)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("key", done.stderr.decode())
        self.ok("cluster", "adopt", self.path("store"), "-t", cluster,
                "--encryption-key", self.path("right"))
        self.assertEqual(self.ok("scan", "t", "--format", "json", "-t",
                                 cluster), before)


if __name__ == "__main__":
    main()

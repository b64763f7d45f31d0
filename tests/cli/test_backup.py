"""Backups: tables come back as they were, from directories and from buckets, in
whatever moment a command that makes, restores or drops one is killed."""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "lib"))
import fake_s3  # noqa: E402


class BackupTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("its clusters are those of cluster/backup")
        self.place = self.path("bk")

    def load(self, table, first, count, size=20):
        """Rows of incompressible values, as a table file of their own."""
        rng = random.Random(first)
        with open(self.path("rows.tsv"), "w") as f:
            for i in range(first, first + count):
                f.write("r%06d\tf:q\t%d\t%s\n" % (i, i + 1,
                                                 rng.randbytes(size).hex()))
        self.ok("load", table, "rows.tsv", "--id", "%s-%d" % (table, first))

    def cells(self, table, *target):
        return self.ok(*target, "scan", table, "--versions", "99", "--format",
                       "json")

    def at(self, name):
        return ("--target", "file:" + self.path(name))

    def files(self):
        """All table files at the place."""
        return sorted(os.path.join(top, name)
                      for top, _, names in os.walk(self.path("bk/files"))
                      for name in names)


class RoundTrip(BackupTest):
    def test_tables_come_back(self):
        """Into the same store under other names, and into another; what is
        there already is neither sent nor fetched twice, and not changed."""
        self.table("t", "f,versions=5", "n,aggregate=sum")
        self.table("u")
        self.load("t", 0, 50)
        for i in range(3):
            self.ok("put", "t", "r000001", "f:q=%d" % i, "f:new=%d" % i)
        self.ok("delete", "t", "r000002")
        self.load("u", 0, 20)
        before = self.cells("t"), self.cells("u")
        self.assertIn("sent", self.ok("backup", "create", self.place, "one"))
        self.ok("put", "t", "later", "f:q=1")
        second = self.ok("backup", "create", self.place, "two")
        self.assertIn("sent 1 files", second)
        self.assertIn("exists already", self.fails(
            1, "backup", "create", self.place, "two"))
        names = [b["backup"] for b in self.json("backup", "list", self.place)]
        self.assertEqual(names, ["one", "two"])
        self.ok("backup", "restore", self.place, "one", "-t", "t=t1")
        self.assertEqual(self.cells("t1"), before[0])
        there = self.at("other")
        self.ok(*there, "backup", "restore", self.place, "one")
        self.assertEqual(self.cells("t", *there), before[0])
        self.assertEqual(self.cells("u", *there), before[1])
        self.assertIn("table t exists already", self.fails(
            1, *there, "backup", "restore", self.place, "two"))
        # A later write is newer than everything that was restored.
        self.ok(*there, "put", "t", "r000001", "f:q=new")
        self.assertIn("new", self.ok(*there, "get", "t", "r000001", "f:q"))
        self.ok(*there, "table", "compact", "t")
        self.assertIn("new", self.ok(*there, "get", "t", "r000001", "f:q"))
        self.ok(*there, "check")
        self.ok("backup", "restore", self.place, "-t", "t=t2")  # The newest.
        self.assertEqual(self.cells("t2"), self.cells("t"))
        self.assertEqual(self.json("snapshot", "list"), [])
        # A restored store has the same files: nothing of them is sent.
        self.assertIn("sent 0 files", self.ok(
            *self.at("third"), "backup", "restore", self.place, "one") and
            self.ok(*self.at("third"), "backup", "create", self.place, "3"))

    def test_dropped(self):
        """Files go with the last backup that needs them."""
        self.table("t")
        self.load("t", 0, 10)
        self.ok("backup", "create", self.place, "one")
        first = self.files()
        self.ok("table", "drop", "t")
        self.table("t")
        self.load("t", 10, 10)
        self.ok("backup", "create", self.place, "two")
        self.ok("backup", "create", self.place, "three")
        self.assertIn("there are: one, three, two", self.fails(
            1, "backup", "drop", self.place, "four"))
        self.ok("backup", "drop", self.place, "--keep", "2")
        self.assertTrue(set(first).isdisjoint(self.files()))
        self.ok("backup", "verify", self.place)
        self.ok("backup", "drop", self.place, "two")
        self.ok("backup", "verify", self.place, "three")
        self.ok("backup", "drop", self.place, "three")
        self.assertEqual(self.files(), [])
        self.assertIn("there are none", self.fails(
            1, "backup", "restore", self.place, "three"))

    def test_damage_is_told(self):
        """A missing, cut or changed file, and a manifest that is damaged: all
        are told at once; nothing of it is restored or collected."""
        self.table("t")
        self.table("u")
        self.load("t", 0, 30)
        self.load("u", 0, 31)
        self.ok("backup", "create", self.place, "one")
        one, two = self.files()
        with open(one, "r+b") as f:
            f.seek(100)
            f.write(b"?!")
        os.truncate(two, os.path.getsize(two) - 1)
        done = self.run_quarry("backup", "verify", self.place)
        self.assertEqual(done.returncode, 1)
        said = done.stdout.decode()
        self.assertIn(os.path.basename(one) + ": its digest", said)
        self.assertIn(os.path.basename(two) + ": ", said)
        self.assertIn("digest does not match", self.fails(
            1, *self.at("other"), "backup", "restore", self.place, "one"))
        self.fails(1, *self.at("other"), "scan", "t")
        os.unlink(two)
        self.assertIn("it is missing", self.run_quarry(
            "backup", "verify", self.place, "one").stdout.decode())
        manifest = self.path("bk/backups/one.backup")
        with open(manifest, "r+b") as f:
            f.seek(200)
            f.write(b"?!")
        self.fails(1, "backup", "verify", self.place)
        self.assertIn("nobody knows which files it needs", self.fails(
            1, "backup", "drop", self.place, "--keep", "1"))
        self.assertEqual(self.files(), [one])
        self.ok("backup", "drop", self.place, "one")
        self.assertEqual(self.files(), [])

    def test_encrypted(self):
        """The bytes of an encrypted store leave it encrypted; with the master
        key they come back into any store, and without it into none."""
        self.write("key", "11" * 32)
        self.write("other", "22" * 32)
        for name in ("key", "other"):
            os.chmod(self.path(name), 0o600)
        key = ("--encryption-key", self.path("key"))
        other = ("--encryption-key", self.path("other"))
        self.ok(*key, "table", "create", "t", "--family", "f")
        self.ok(*key, "put", "t", "row", "f:q=SECRETSECRETSECRET")
        cells = self.ok(*key, "scan", "t")
        self.ok(*key, "backup", "create", self.place, "one")
        for path in self.files() + [self.path("bk/backups/one.backup")]:
            with open(path, "rb") as f:
                self.assertNotIn(b"SECRETSECRET", f.read())
        self.ok("backup", "verify", self.place)
        self.assertIn("no master key", self.fails(
            1, *self.at("a"), "backup", "restore", self.place))
        self.fails(1, *self.at("a"), "backup", "restore", self.place,
                   "--backup-key", self.path("other"))
        backup = ("--backup-key", self.path("key"))
        self.ok(*self.at("plain"), "backup", "restore", self.place, *backup)
        self.assertEqual(self.ok(*self.at("plain"), "scan", "t"), cells)
        self.ok(*self.at("b"), *other, "backup", "restore", self.place, *backup)
        self.assertEqual(self.ok(*self.at("b"), *other, "scan", "t"), cells)
        self.ok(*self.at("b"), *other, "check")
        self.ok(*key, "backup", "restore", self.place, "-t", "t=again")
        self.assertEqual(self.ok(*key, "scan", "again"), cells)


class Moments(BackupTest):
    """Backups that archives continue: tables as of any moment."""

    def begin(self):
        self.ok("table", "create", "t", "--family", "f,versions=3", "--family",
                "n,aggregate=sum", "--changes", "7d")
        self.moments = []

    def archive(self, *more):
        return self.ok("backup", "archive", self.place, *more)

    def change(self, rng, count):
        for _ in range(count):
            row = "r%d" % rng.randrange(6)
            self.ok(*rng.choice([
                ("put", "t", row, "f:q=%d" % rng.randrange(1000)),
                ("add", "t", row, "n:q", "7"), ("delete", "t", row)]))
        time.sleep(0.01)
        self.moments.append((time.time_ns() // 1000, self.cells("t")))
        time.sleep(0.01)

    def check(self, us, want):
        there = self.at("other")
        self.ok(*there, "backup", "restore", self.place, "--to", str(us),
                "-t", "t=was")
        self.assertEqual(self.cells("was", *there), want)
        self.ok(*there, "table", "drop", "was")

    def story(self):
        rng = random.Random(7)
        self.begin()
        self.change(rng, 2)
        self.archive()
        self.ok("put", "t", "r0", "f:q=before")
        self.ok("backup", "create", self.place, "one")
        self.change(rng, 4)
        self.archive()
        self.change(rng, 3)
        self.ok("backup", "create", self.place, "two")
        self.change(rng, 4)
        self.archive()
        for us, want in self.moments[1:]:
            self.check(us, want)

    def test_any_moment(self):
        """Before the first backup, behind the archive and over a gap it is
        refused by name; a drop keeps what the other backups need."""
        self.story()
        there = self.at("other")

        def refused(us, *more):
            return self.fails(1, *there, "backup", "restore", self.place, *more,
                              "--to", str(us), "-t", "t=was")
        self.ok("put", "t", "later", "f:q=1")
        late = time.time_ns() // 1000
        self.assertIn("all commits up to", refused(late))
        self.assertIn("has commits up to", refused(self.moments[0][0]))
        self.assertIn("has commits up to", refused(self.moments[1][0], "two"))
        before = os.listdir(self.path("bk/archive"))
        self.ok("backup", "drop", self.place, "one")
        self.check(*self.moments[-1])
        self.assertIn("has commits up to", refused(self.moments[1][0]))
        self.archive("--restart")
        self.ok("put", "t", "later", "f:q=2")
        self.archive()
        self.assertIn("are missing in the archive",
                      refused(time.time_ns() // 1000))
        self.assertEqual(os.listdir(self.path("bk/archive")), before)
        self.table("plain")
        self.assertIn("changes", self.fails(1, "backup", "archive", self.place,
                                            "-t", "plain"))

    def test_killed(self):
        """Archives and restores that are killed leave nothing that is wrong."""
        rng = random.Random(8)
        self.begin()
        self.archive()
        self.ok("backup", "create", self.place, "one")
        for _ in range(6):
            self.change(rng, 2)
            process = self.start("backup", "archive", self.place)
            try:
                process.wait(rng.uniform(0.02, 0.3))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self.archive()
        there = self.at("other")
        self.ok(*there, "table", "create", "first", "--family", "f")
        us, want = self.moments[3]
        for seconds in (0.05, 0.1, 0.15, 0.2, 0.3):
            process = self.start(*there, "backup", "restore", self.place, "--to",
                                 str(us), "-t", "t=was")
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            if any(t["table"] == "was"
                   for t in self.json(*there, "table", "list")):
                self.assertEqual(self.cells("was", *there), want)
                self.ok(*there, "table", "drop", "was")
        for us, want in self.moments:
            self.check(us, want)


class Killed(BackupTest):
    def kill_during(self, seconds, *args):
        """Run the command, and kill it after @seconds, if it still runs."""
        process = self.start(*args)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        return process.returncode == 0

    def test_any_command_at_any_moment(self):
        """The same command makes what was killed, and does less; backups that
        were there stay whole, and in the end nothing is left over."""
        rng = random.Random(5)
        lease = ("--lease", "1s")
        for i in range(6):
            self.table("t%d" % i)
            self.load("t%d" % i, 100 * i, 40, 2000)
        want = [self.cells("t%d" % i) for i in range(6)]
        for round_ in range(4):
            name = "b%d" % round_
            slow = ("--rate", "1M", "-j", "1")
            while not self.kill_during(rng.uniform(0.1, 1.2), "backup",
                                       "create", self.place, name, *lease,
                                       *slow):
                self.ok("backup", "verify", self.place)
                if name in [b["backup"] for b in
                            self.json("backup", "list", self.place)]:
                    break
                slow = ()
            self.kill_during(rng.uniform(0.1, 0.6), "backup", "drop",
                             self.place, "--keep", "1", *lease)
            self.ok("backup", "verify", self.place)
        there = self.at("other")
        self.ok(*there, "table", "create", "first", "--family", "f")
        for i in range(6):
            slow = ("--rate", "400K")
            while "t%d" % i not in [t["table"] for t in
                                    self.json(*there, "table", "list")]:
                self.kill_during(rng.uniform(0.2, 0.8), *there, "backup",
                                 "restore", self.place, "-t", "t%d" % i, *slow)
                slow = ()
            self.assertEqual(self.cells("t%d" % i, *there), want[i])
        self.ok(*there, "check")
        time.sleep(1)
        self.ok("backup", "drop", self.place, "--keep", "1", *lease)
        self.assertEqual(len(self.files()), 6)
        self.assertEqual(os.listdir(self.path("bk/runs")), [])

    def test_a_drop_beside_a_create(self):
        """Files that a backup in the making counts on stay, although the only
        manifest that names them goes."""
        self.table("t")
        self.load("t", 0, 20)
        self.ok("backup", "create", self.place, "one")
        for i in range(1, 4):
            self.load("t", 100 * i, 40, 4000)
        process = self.start("backup", "create", self.place, "two", "--rate",
                             "300K", "-j", "1")
        self.wait_for(lambda: any(
            name.endswith(".create")
            for name in os.listdir(self.path("bk/runs"))))
        done = self.run_quarry("backup", "drop", self.place, "one")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(process.wait(), 0)
        self.ok("backup", "verify", self.place)
        self.ok("backup", "restore", self.place, "two", "-t", "t=again")
        self.assertEqual(self.cells("again"), self.cells("t"))

    def test_two_at_once(self):
        """Of two backups of one name one succeeds; of two names both do."""
        for name in ("a", "b"):
            self.ok(*self.at(name), "table", "create", "t", "--family", "f")
            self.ok(*self.at(name), "put", "t", "r", "f:q=" + name)
        pair = [self.start(*self.at(name), "backup", "create", self.place, "x")
                for name in ("a", "b")]
        self.assertEqual(sorted(p.wait() for p in pair), [0, 1])
        pair = [self.start(*self.at(name), "backup", "create", self.place,
                           "of-" + name) for name in ("a", "b")]
        self.assertEqual([p.wait() for p in pair], [0, 0])
        self.ok("backup", "verify", self.place)
        self.ok("backup", "restore", self.place, "of-b")
        self.assertIn("b", self.ok("get", "t", "r", "f:q"))


class Bucket(BackupTest):
    def setUp(self):
        super().setUp()
        self.s3 = fake_s3.FakeS3()
        self.s3.__enter__()
        self.addCleanup(self.s3.__exit__)
        self.env.update(self.s3.env())
        self.place = "s3://bucket/some/where"
        if b"built without" in self.run_quarry("fs", "ls",
                                               "s3://bucket").stderr:
            print("SKIPPED: this quarry was built without libcurl", flush=True)
            self.skipTest("without libcurl")

    def test_a_bucket(self):
        """The same from a bucket, whose server fails now and then."""
        self.table("t")
        self.load("t", 0, 30)
        self.load("t", 30, 300, 40000)  # Sent in parts.
        for kind in ("500", "503", "reset", "lost"):
            self.s3.fail(kind, method="PUT", has="files")
        self.s3.fail("lost", method="PUT", has="one.backup")
        self.ok("backup", "create", self.place, "one")
        self.assertIn("sent 0 files",
                      self.ok("backup", "create", self.place, "two"))
        self.assertIn("exists already", self.fails(
            1, "backup", "create", self.place, "one"))
        for kind in ("500", "cut", "reset"):
            self.s3.fail(kind, method="GET", has="files")
        self.ok("backup", "verify", self.place)
        self.ok("backup", "restore", self.place, "one", "-t", "t=again")
        self.assertEqual(self.cells("again"), self.cells("t"))
        self.ok("backup", "drop", self.place, "one")
        self.ok("backup", "drop", self.place, "two")
        self.assertEqual(list(self.s3.objects["bucket"]), [])

    def test_moments(self):
        """The same from a bucket."""
        Moments.story(self)

    begin = Moments.begin
    archive = Moments.archive
    change = Moments.change
    check = Moments.check


if __name__ == "__main__":
    unittest.main()

"""Files in a pool of a real Ceph, whose monitor, manager and OSD are started here.

    python3 tests/engines/rados.py QUARRY [unittest arguments]

$QUARRY_TEST_RADOS, if it is set, is a place in another one, rados://POOL/DIRECTORY,
which is emptied; what stops its servers is then left out.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import store_suite
from ceph import Ceph
from store_suite import ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import harness  # noqa: E402

store_suite.StoreTest.suite_program = store_suite.program(harness.QUARRY)


def setUpModule():
    global ceph, place, env
    ceph, place, env = None, os.environ.get("QUARRY_TEST_RADOS"), {}
    if place:
        return
    scratch = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(scratch.cleanup)
    ceph = Ceph(scratch.name)
    unittest.addModuleCleanup(ceph.end)
    ceph.start()
    ceph.pool("quarry")
    env = ceph.env
    place = "rados://quarry/t"


def objects():
    """The names of all objects of the pool that hold bytes of files."""
    return [name for name in ceph.run(
        "rados", "-p", "quarry", "-N", "quarry", "ls").split()
        if name.startswith("f/")]


class Files(store_suite.StoreTest):
    def test_promises(self):
        before = set(objects()) if ceph else set()
        self.suite(env, place + "/suite", "all")
        if ceph:
            self.assertEqual(set(objects()) - before, set())

    def test_broken_connections(self):
        """librados itself breaks one of 150 of its reads and writes."""
        text = self.suite(
            dict(env, QUIET_CEPH_ARGS=" ",
                 CEPH_ARGS="--ms-inject-socket-failures=150"),
            place + "/storm", "faults", 400, 1, place + "/storm")
        print(text.splitlines()[1], flush=True)

    def storm_beside(self, disturb, *words):
        """The storm, while disturb() is called again and again."""
        over = threading.Event()

        def run():
            while not over.wait(random.random() / 2):
                disturb()
        thread = threading.Thread(target=run)
        thread.start()
        try:
            text = self.suite(env, *words)
        finally:
            over.set()
            thread.join()
        print(text.splitlines()[1], flush=True)

    def test_stopped_server(self):
        """Calls wait for an OSD that does not answer for seconds."""
        if not ceph:
            self.skipTest("another Ceph")

        def disturb():
            ceph.signal("osd", signal.SIGSTOP)
            time.sleep(random.random() * 2)
            ceph.signal("osd", signal.SIGCONT)
        self.storm_beside(disturb, place + "/stops", "faults", 2000, 2,
                          place + "/stops")

    def test_limit_of_time(self):
        """While the OSD does not answer at all, a call ends at its limit."""
        if not ceph:
            self.skipTest("another Ceph")
        self.suite(env, place + "/limit", "all")
        ceph.signal("osd", signal.SIGSTOP)
        self.addCleanup(ceph.signal, "osd", signal.SIGCONT)
        begin = time.monotonic()
        done = subprocess.run(
            [harness.QUARRY, "fs", "ls", place],
            env={**os.environ, **env, "QUARRY_RADOS_SECONDS": "3"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"ceph -s", done.stderr)
        self.assertLess(time.monotonic() - begin, 30)

    def test_lock_of_the_dead(self):
        """A lock ends half a minute after its holder was killed."""
        holder = subprocess.Popen(
            [self.suite_program, place + "/lock", "hold"],
            env={**os.environ, **env}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        self.addCleanup(holder.stdout.close)
        while True:
            line = holder.stdout.readline()
            if line == b"held\n":
                break
            self.assertTrue(line)
        holder.kill()
        text = self.suite(env, place + "/lock", "await", 60)
        self.assertIn("locked by client.", text)
        print([t for t in text.splitlines() if "free after" in t][0],
              flush=True)


class Commands(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.env.update(env)
        self.place = place + "/commands"
        self.run_quarry("fs", "rm", "-r", self.place)

    def test_files(self):
        big = random.Random(1).randbytes(40 << 20)
        self.write("big", big)
        self.ok("fs", "put", "big", self.place + "/d/big")
        self.ok("fs", "get", self.place + "/d/big", "back")
        with open(self.path("back"), "rb") as f:
            self.assertEqual(f.read(), big)
        self.assertIn("exists already", self.fails(
            1, "fs", "put", "big", self.place + "/d/big"))
        self.ok("fs", "mv", self.place + "/d/big", self.place + "/d/new")
        self.assertEqual([row["path"] for row in self.json(
            "fs", "ls", self.place + "/d")], [self.place + "/d/new"])
        other = place + "-other"
        self.ok("fs", "mv", self.place + "/d/new", other + "/new")
        self.assertEqual([row["path"] for row in self.json(
            "fs", "ls", other)], [other + "/new"])
        self.ok("fs", "rm", "-r", other)

    def test_tables_go_and_come(self):
        """Exports, imports, jobs and backups by names of the pool."""
        self.table("t")
        for i in range(5):
            self.ok("put", "t", "r%d" % i, "f:q=%d" % i)
        self.ok("export", "t", self.place + "/t.tsv")
        self.ok("import", self.place + "/*.tsv", "--into", "v")
        self.assertEqual(self.ok("scan", "v"), self.ok("scan", "t"))
        self.ok("backup", "create", self.place + "/backups", "one")
        self.assertIn("exists already", self.fails(
            1, "backup", "create", self.place + "/backups", "one"))
        self.ok("backup", "verify", self.place + "/backups")
        self.ok("backup", "restore", self.place + "/backups", "one", "-t",
                "t=again")
        self.assertEqual(self.ok("scan", "again"), self.ok("scan", "t"))
        self.ok("backup", "drop", self.place + "/backups", "one")

    def test_killed_writer(self):
        """Nothing is seen of it, and what it sent goes with its directory."""
        if not ceph:
            self.skipTest("another Ceph")
        self.write("big", random.Random(2).randbytes(200 << 20))
        self.ok("fs", "put", "big", self.place + "/whole")
        self.ok("fs", "rm", self.place + "/whole")
        before = objects()
        top = place.replace("/t", "/killed")
        writer = subprocess.Popen(
            [harness.QUARRY, "fs", "put", self.path("big"), top + "/big"],
            env=self.env)
        while len(objects()) < len(before) + 5:
            self.assertIsNone(writer.poll())
        writer.kill()
        writer.wait()
        self.assertEqual(self.json("fs", "ls", top), [])
        self.assertGreater(len(objects()), len(before))
        self.ok("fs", "rm", "-r", top)
        self.assertEqual(sorted(objects()), sorted(before))

    def test_refusals(self):
        self.assertIn("not there", self.fails(1, "fs", "cat",
                                              self.place + "/x"))
        self.assertIn("no such pool", self.fails(1, "fs", "ls",
                                                 "rados://nowhere/x"))
        self.env["CEPH_CONF"] = self.path("none")
        self.assertIn("no ceph.conf", self.fails(1, "fs", "ls", self.place))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Disks that fail or fill up under real processes: a server says what ails it;
a full disk is waited for, a failed one ends the process, and the others continue.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import unittest

from processes import CELL, QUARRY, SECONDS, ClusterTest, free_ports, main

TARGET = "cluster:quarry-cluster"
FAKETIME = "/usr/lib/%s-linux-gnu/faketime/libfaketimeMT.so.1" % (
    os.uname().machine)
# Holds the lock on the file it is given, for a while with one thread alone that
# is not the first: so a process looks whose others a kill has ended.
LAST_THREAD = """
import ctypes, fcntl, os, sys, threading, time
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
threading.Thread(target=lambda: (time.sleep(4), os._exit(0))).start()
libc = ctypes.CDLL(None)
SYS_EXIT = {"x86_64": 60}.get(os.uname().machine, 93)
libc.syscall(SYS_EXIT, 0)
"""


def tmpfs_missing(where):
    """Why there can be no small disk here; None if there can."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs",
                           where], check=False, stderr=subprocess.PIPE)
    if done.returncode:
        return "no tmpfs: " + done.stderr.decode().strip()
    subprocess.run(["umount", where], check=True)
    return None


class HealthTest(ClusterTest):
    def health(self, cluster, name, role):
        return cluster.roles(name).get(role, {}).get("health")

    def put(self, path, text, seconds=SECONDS):
        self.ok("lock", "put", path, text, "-t", TARGET, "--timeout",
                "%ds" % seconds)

    def test_log_fails(self):
        """A member whose log cannot be written ends; the others serve, and it
        is back once its disk is."""
        c = self.loopback(3, CELL)
        self.put("/f", "1")
        victim = c.leader("lock")
        pid = c.pid(victim)
        # Every write of the process beyond its first byte fails.
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, 1))
        self.put("/f", "2")
        c.await_gone(victim, pid)
        self.put("/f", "3")
        c.start(victim)
        self.assertEqual(self.ok("lock", "cat", "/f", "-t", TARGET), "3")

        def well():
            return self.health(c, victim, "lock") == "well"
        self.wait_for(well)

    def test_status_of_failure(self):
        """A server that cannot continue ends with status 1 and one line that says
        what and why."""
        address = "127.0.0.1:%d" % free_ports(1)[0]
        server = subprocess.Popen(
            [QUARRY, "server", "--data", "one", "--listen", address, "--roles",
             "lock"], cwd=self.dir, env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.kill)
        server.stdout.readline()
        # Its log may not become longer; what connections share may be made.
        limit = 3 << 20
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (limit, limit))

        def is_over():
            """Of a put that a busy machine kept from reaching it, it knows
            nothing."""
            self.run_quarry("lock", "put", "/f", "x" * 120000, "-t", address,
                            "--timeout", "5s")
            return server.poll() is not None
        self.wait_for(is_over)
        _, errors = server.communicate(timeout=SECONDS)
        self.assertEqual(server.returncode, 1, errors)
        self.assertRegex(errors.splitlines()[-1], "^quarry: .*role lock: ")

    def test_clock_ahead(self):
        """A node whose clock differs from the others' is named."""
        if not os.path.exists(FAKETIME):
            self.skipTest("there is no libfaketime (package faketime)")
        c = self.loopback(3, CELL)
        c.kill("n2")
        before = dict(self.env)
        self.env.update(LD_PRELOAD=FAKETIME, FAKETIME="+5h",
                        FAKETIME_DONT_FAKE_MONOTONIC="1")
        self.env["ASAN_OPTIONS"] = ":".join(
            filter(None, (before.get("ASAN_OPTIONS"),
                          "verify_asan_link_order=0")))
        self.ok("cluster", "restart", "n2")
        self.env.clear()
        self.env.update(before)

        def told():
            lines = self.ok("cluster", "status").splitlines()
            return [line.split()[0] for line in lines if " ahead" in line]
        self.wait_for(lambda: told() == ["n2"])

    def test_chunks_gone(self):
        """A chunk server whose directory is taken away, or replaced by another,
        ends instead of pretending."""
        c = self.loopback(3, CELL)
        for name, replace in (("n1", False), ("n2", True)):
            pid = c.pid(name)
            chunks = os.path.join(c.dir(name), "chunk")
            os.rename(chunks, chunks + ".away")
            if replace:
                shutil.copytree(os.path.join(c.dir("n3"), "chunk"), chunks)
            c.await_gone(name, pid)
            self.assertIn('cannot continue why="role chunk: ', c.log(name))
            shutil.rmtree(chunks, ignore_errors=True)
            os.rename(chunks + ".away", chunks)
            c.start(name)
            self.wait_for(lambda: self.health(c, name, "chunk") == "well")

    def test_place_lost(self):
        """A role that has lost its place in the cluster costs its process a
        moment, not its life: it restarts by itself, with the same number.
        A server that loses it repeatedly waits longer each time."""
        c = self.loopback(3)

        def tablet():
            return c.roles("n1").get("tablet", {"ready": "no", "number": "0"})
        self.wait_for(lambda: tablet()["ready"] == "yes")
        pid = c.pid("n1")
        for _ in range(3):
            number = tablet()["number"]
            self.ok("lock", "rm", "/bigtable/servers/%08d" % int(number), "-t",
                    TARGET)
            self.wait_for(lambda: tablet()["number"] not in ("0", number))
        self.assertEqual(c.pid("n1"), pid)
        self.assertIn('cannot continue why="role tablet: ', c.log("n1"))
        self.assertEqual(
            re.findall(r"restarts times=(\d+) pause_ms=(\d+)", c.log("n1")),
            [("1", "100"), ("2", "200"), ("3", "400")])

    def test_pause_ends(self):
        """One that pauses before it restarts can be told to end, and leaves
        nothing behind."""
        address = "127.0.0.1:%d" % free_ports(1)[0]
        pid_file, log = self.path("pid"), self.path("log")
        with open(pid_file, "w") as f:
            f.write("of the life before\n")
        server = subprocess.Popen(
            [QUARRY, "server", "--data", "one", "--listen", address, "--roles",
             "lock", "--pid-file", pid_file, "--log", log], cwd=self.dir,
            env=dict(self.env, QUARRY_RESTARTS="99"), stdout=subprocess.PIPE,
            text=True)
        self.addCleanup(server.kill)

        def text():
            with open(log) as f:
                return f.read()
        self.wait_for(lambda: os.path.exists(log) and "pause_ms=" in text())
        self.assertIn("restarts times=99 pause_ms=5000", text())
        server.terminate()
        out, _ = server.communicate(timeout=SECONDS)
        self.assertEqual((server.returncode, out), (0, ""), text())
        self.assertFalse(os.path.exists(pid_file))

    def test_start_after_kill(self):
        """A node whose process was killed, and is kept from its end by the
        disk, is started as soon as that has ended."""
        c = self.loopback(1, CELL)
        c.kill("n1")
        dying = subprocess.Popen(
            [sys.executable, "-c", LAST_THREAD, os.path.join(c.dir("n1"),
                                                             "LOCK")])
        self.addCleanup(dying.wait)
        self.wait_for(lambda: self.state(dying.pid) == "Z")
        self.ok("cluster", "start")
        self.assertIsNotNone(c.pid("n1"))

    @staticmethod
    def state(pid):
        with open("/proc/%d/stat" % pid) as f:
            return f.read().split(") ")[1][0]

    def test_disk_full(self):
        """A server whose disk is full says so and stays; with space again it
        continues by itself, and nothing that was acknowledged is lost."""
        disk = self.path("quarry-cluster/n1")
        os.makedirs(disk)
        why = tmpfs_missing(disk)
        shutil.rmtree(self.path("quarry-cluster"))
        if why:
            print("SKIPPED: %s: %s" % (self.id(), why), flush=True)
            raise unittest.SkipTest(why)
        c = self.loopback(3, CELL)
        c.stop("n1")
        kept = self.path("kept")
        os.rename(disk, kept)
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs",
                        disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=False)
        self.addCleanup(c.end)  # Before its disk goes.
        shutil.copytree(kept, disk, dirs_exist_ok=True)
        c.start("n1")
        self.put("/before", "b")
        filler = os.path.join(disk, "filler")
        with open(filler, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass

        def full(role):
            return re.search("full|space", self.health(c, "n1", role) or "")
        self.wait_for(lambda: full("chunk"))
        # The log's file has space ahead of its end.
        for i in range(200):
            if full("lock"):
                break
            self.put("/during", "%d" % i + "x" * 120000)
        self.assertTrue(full("lock"))
        self.assertIn("disk full role=chunk", c.log("n1"))
        pid = c.pid("n1")
        self.put("/during", "d")
        os.unlink(filler)
        for role in ("lock", "namenode", "chunk"):
            self.wait_for(lambda: self.health(c, "n1", role) == "well")
        self.assertEqual(c.pid("n1"), pid)
        self.assertIn("well again role=chunk", c.log("n1"))
        # With another away the cell needs n1: it has caught up.
        c.stop("n2")
        self.put("/after", "a")
        for name, text in (("before", "b"), ("during", "d"), ("after", "a")):
            self.assertEqual(text, self.ok("lock", "cat", "/" + name, "-t",
                                           TARGET, "--timeout", "120s"))


if __name__ == "__main__":
    main()

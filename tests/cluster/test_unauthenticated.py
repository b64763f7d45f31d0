"""Unauthenticated peers by the hundred: a server whose descriptors are few lives, answers
its own, and the unauthenticated peers are gone after a while."""

import os
import re
import resource
import socket
import struct
import subprocess
import urllib.request

from processes import QUARRY, SECONDS, ClusterTest, free_ports, main
from raw_peer import RawPeer

SECRET = b"0123456789abcdef0123456789abcdef"
STATUS = 0x101
DESCRIPTORS = 256


class UnauthenticatedTest(ClusterTest):
    def serve(self, soft, hard, conf="", host="127.0.0.1"):
        self.write("key", SECRET.decode())
        os.chmod(self.path("key"), 0o600)
        self.port, console = free_ports(2)
        self.address = "%s:%d" % (host, self.port)
        self.console = "127.0.0.1:%d" % console
        self.write("conf", conf)
        self.process = subprocess.Popen(
            [QUARRY, "server", "--config", self.path("conf"), "--data", "data",
             "--listen", self.address, "--console", self.console, "--key",
             self.path("key"), "--log", self.path("log"), "--roles",
             "lock,namenode,chunk"], cwd=self.dir, env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                  (soft, hard)))
        self.addCleanup(self.end)
        self.assertTrue(
            self.process.stdout.readline().startswith("ready "))

    def end(self):
        self.process.terminate()
        _, errors = self.process.communicate(timeout=SECONDS)
        for sign in ("Sanitizer", "runtime error", "panic at"):
            self.assertNotIn(sign, errors)

    def log(self):
        with open(self.path("log"), errors="replace") as f:
            return f.read()

    def connect(self, count):
        """@count connections that send nothing."""
        out = []
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", self.port), SECONDS)
            self.addCleanup(s.close)
            out.append(s)
        return out

    def status(self):
        """The first line of what the server says of itself, {key: value}."""
        s = RawPeer(("127.0.0.1", self.port), key=SECRET)
        line = s.call(STATUS)[1].split(b"\n")[0].decode(errors="replace")
        s.close()
        return dict(re.findall(r"([a-z]+)=(\S+)", line))

    def health(self):
        with urllib.request.urlopen("http://%s/health" % self.console,
                                    timeout=SECONDS) as answer:
            return answer.read()

    def test_few_descriptors(self):
        """More unauthenticated peers than descriptors: those are kept for files, and the
        server neither ends nor fails."""
        self.serve(DESCRIPTORS, DESCRIPTORS)
        for _ in range(3):
            self.connect(DESCRIPTORS)
            self.assertEqual(self.health(), b"ok\n")
        self.wait_for(lambda: RawPeer(("127.0.0.1", self.port),
                                       key=SECRET).status == 0)
        self.ok("lock", "put", "/greeting", "hello", "-t", self.address,
                "--key", self.path("key"))
        self.assertIsNone(self.process.poll())
        self.assertNotIn("cannot continue", self.log())
        self.assertIn("turned away peer=127.0.0.1", self.log())

    def test_limit_is_raised(self):
        """The soft limit of a login shell is not the server's."""
        self.serve(DESCRIPTORS, 4 * DESCRIPTORS)
        self.assertEqual(int(self.status()["descriptors"]), 4 * DESCRIPTORS)

    def test_strangers_leave(self):
        """Unauthenticated peers are few at a time, and are closed when their time to prove
        themselves is over."""
        self.serve(4 * DESCRIPTORS, 4 * DESCRIPTORS, "[limits]\n"
                   "unauthenticated-per-address = 10\nhandshake = 2s\n")
        streams = self.connect(40)
        self.wait_for(lambda: all(self.is_closed(s) for s in streams))
        status = self.status()
        self.assertEqual(status["unauthenticated"].split("/")[0], "0")
        self.assertIn("too many connections of its address", self.log())

    @staticmethod
    def is_closed(s):
        s.settimeout(0.01)
        try:
            return s.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def test_holders_come_back(self):
        """Where clients have taken all places, one that holds a lock at the lock
        service is let in, and others are not."""
        # Another host than those of the cell.
        self.serve(4 * DESCRIPTORS, 4 * DESCRIPTORS, "[limits]\n"
                   "connections = 60\nconnections-reserved = 20\n",
                   host="127.0.0.9")
        args = ["-t", self.address, "--key", self.path("key"), "--principal",
                "holder"]
        self.ok("lock", "put", "/held", "x", *args)
        holding = self.start("lock", "hold", "/held", *args, "--", "sleep",
                             str(SECONDS))
        self.addCleanup(holding.wait)
        self.addCleanup(holding.terminate)
        where = ("127.0.0.9", self.port)
        crowd = [RawPeer(where, key=SECRET) for _ in range(80)]
        for s in crowd:
            self.addCleanup(s.close)
        self.assertEqual(crowd[0].call(STATUS)[0], 0)
        other = RawPeer(where, key=SECRET, principal=b"other")
        self.assertTrue(other.is_closed())

        def is_let_in():
            s = RawPeer(where, key=SECRET, principal=b"holder")
            self.addCleanup(s.close)
            if s.status != 0:
                return False
            try:
                return s.call(STATUS)[0] == 0
            except struct.error:
                return False
        self.wait_for(is_let_in)
        other = RawPeer(where, key=SECRET, principal=b"other")
        self.assertTrue(other.is_closed())
        self.assertIn("too many connections", self.log())

    def test_limits_are_checked(self):
        """Settings in [limits] that make no sense are refused by name."""
        self.write("conf", "[limits]\nconnections = 10\n"
                   "connections-reserved = 10\n")
        done = subprocess.run(
            [QUARRY, "server", "--config", self.path("conf"), "--data", "d"],
            cwd=self.dir, env=self.env, capture_output=True, text=True,
            timeout=SECONDS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("[limits] connections-reserved: less than connections",
                      done.stderr)


if __name__ == "__main__":
    main()

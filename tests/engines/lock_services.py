"""The tests of any lock service that others run: the promises of
chubby.h (lock_suite.c), what becomes of sessions when servers are killed,
stopped and cut off, and a whole cluster.
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
QUARRY = os.path.abspath(sys.argv[1])
SUITE = os.path.join(os.path.dirname(QUARRY), "tests", "engines", "lock_suite")


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Proxy:
    """A way to a server that can be cut."""

    def __init__(self, port):
        self.target = port
        self.cut = False
        self.pairs = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                a, _ = self.listener.accept()
                b = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            self.pairs += [a, b]
            for x, y in ((a, b), (b, a)):
                threading.Thread(target=self.copy, args=(x, y),
                                 daemon=True).start()

    def copy(self, a, b):
        try:
            while data := a.recv(65536):
                while self.cut:
                    time.sleep(0.01)
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        for s in [self.listener] + self.pairs:
            s.close()


class LockServiceTest(unittest.TestCase):
    """Of a subclass: start_servers(count), which gives objects with port, kill(),
    stop(), resume() and restart(), and `scheme`."""

    scheme = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="quarry-locks-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def service(self, ports, root=None):
        root = root or "/t%d" % random.randrange(1 << 40)
        return "%s:%s%s" % (self.scheme, ",".join(
            "127.0.0.1:%d" % p for p in ports), root)

    def suite(self, service, *words, timeout=120):
        done = subprocess.run([SUITE, service, *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        return done.stdout

    def start_suite(self, service, *words):
        p = subprocess.Popen([SUITE, service, *map(str, words)], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        self.addCleanup(p.stdin.close)
        self.addCleanup(p.stdout.close)
        self.assertIn("Running", p.stdout.readline())
        return p

    def said(self, p, what, timeout=60):
        """The microseconds at which p said it."""
        timer = threading.Timer(timeout, p.kill)
        timer.start()
        try:
            for line in p.stdout:
                words = line.split()
                if words and words[0] == what:
                    return int(words[1])
        finally:
            timer.cancel()
        self.fail("%r was not said" % what)

    # --- one server ---------------------------------------------------------

    def test_promises(self):
        """Files, locks, events and caches are what chubby.h says."""
        [s] = self.start_servers(1)
        self.suite(self.service([s.port]), "all")

    def test_storm(self):
        """Calls of eight sessions have an order."""
        [s] = self.start_servers(1)
        print(self.suite(self.service([s.port]), "storm", 8, 5,
                         random.randrange(1000)).splitlines()[1])

    def test_latency(self):
        """Figures for the documentation."""
        [s] = self.start_servers(1)
        service = self.service([s.port])
        print(self.suite(service, "latency", 100))
        print(self.suite(service, "sessions", 20))

    def test_killed_server(self):
        """A server that is killed and starts again keeps locks, and answers what
        is asked meanwhile."""
        [s] = self.start_servers(1)
        service = self.service([s.port])
        storm = self.start_suite(service, "storm", 4, 12, 1)
        time.sleep(3)
        s.kill()
        time.sleep(0.5)
        s.restart()
        out = storm.stdout.read()
        self.assertIn("100%", out)
        print(out.splitlines()[0])

    def test_cut_off_holder(self):
        """A holder that is cut off knows that its lock may be lost before
        another has it."""
        [s] = self.start_servers(1)
        proxy = Proxy(s.port)
        self.addCleanup(proxy.close)
        root = "/t%d" % random.randrange(1 << 40)
        holder = self.start_suite(self.service([proxy.port], root), "hold", "l")
        self.said(holder, "held")
        taker = self.start_suite(self.service([s.port], root), "take", "l")
        time.sleep(1)
        proxy.cut = True
        cut = time.clock_gettime(time.CLOCK_BOOTTIME)
        unsafe = self.said(holder, "unsafe") / 1e6
        taken = self.said(taker, "taken") / 1e6
        print("unsafe %.2f s after the cut, taken by another after %.2f s"
              % (unsafe - cut, taken - cut))
        self.assertLess(unsafe, taken)
        proxy.cut = False
        self.said(holder, "expired")

    def test_stopped_holder(self):
        """So does one whose process was stopped for longer than its session."""
        [s] = self.start_servers(1)
        service = self.service([s.port])
        holder = self.start_suite(service, "hold", "l")
        self.said(holder, "held")
        taker = self.start_suite(service, "take", "l")
        time.sleep(0.5)
        holder.send_signal(signal.SIGSTOP)
        taken = self.said(taker, "taken")
        holder.send_signal(signal.SIGCONT)
        unsafe = self.said(holder, "unsafe")
        self.assertGreater(unsafe, taken) # It could not say so before.
        self.said(holder, "expired")

    def test_stopped_server(self):
        """While no server answers, the holder is unsafe; afterwards it has its
        lock, or knows that it has not."""
        [s] = self.start_servers(1)
        service = self.service([s.port])
        holder = self.start_suite(service, "hold", "l")
        self.said(holder, "held")
        s.stop()
        self.said(holder, "unsafe")
        time.sleep(4)
        s.resume()
        for line in holder.stdout:
            if line.split()[0] in ("safe", "expired"):
                break
        else:
            self.fail("the holder did not say what has become of it")

    # --- three servers ------------------------------------------------------

    def test_leader_killed(self):
        """Calls have an order while the leader of three servers is killed."""
        servers = self.start_servers(3)
        service = self.service([s.port for s in servers])
        storm = self.start_suite(service, "storm", 4, 15, 2)
        time.sleep(3)
        leader = self.find_leader(servers)
        leader.kill()
        time.sleep(5)
        leader.restart()
        out = storm.stdout.read()
        self.assertIn("100%", out)
        print(out.splitlines()[0])

    # --- a cluster ----------------------------------------------------------

    def quarry(self, *words, check=True, timeout=120):
        done = subprocess.run([QUARRY, *words], cwd=self.dir, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=timeout)
        if check:
            self.assertEqual(done.returncode, 0,
                             " ".join(words) + "\n" + done.stdout)
        return done.stdout

    def leads(self, role):
        for line in self.quarry("cluster", "status").splitlines():
            if role in line and line.startswith("n"):
                return line.split()[0]
        return None

    def test_path_of_another(self):
        """A new cluster at a path that has another's state ends, and says so; the
        other continues there, and a path of its own helps."""
        [s] = self.start_servers(1)
        service = self.service([s.port])
        def start(name, where, check=True):
            os.environ["QUARRY_TARGET"] = "cluster:%s/%s" % (self.dir, name)
            self.addCleanup(self.quarry, "cluster", "stop", "--data", name,
                            check=False)
            return self.quarry("cluster", "start", "-n", "1", "--data", name,
                               "--lock-service", where, check=check)
        self.addCleanup(os.environ.pop, "QUARRY_TARGET")
        start("one", service)
        self.quarry("table", "create", "t", "--family", "f")
        self.quarry("cluster", "stop", "--data", "one")
        begun = time.monotonic()
        said = start("two", service, check=False)
        print("refused after %.1f s" % (time.monotonic() - begun))
        self.assertRegex(said, "state of cluster [0-9a-f]{32}")
        self.assertIn("path of its own", said)
        start("one", service)
        self.assertIn("t", self.quarry("table", "list"))
        start("three", service + "-three")
        self.assertNotIn("t\n", self.quarry("table", "list"))

    def test_cluster(self):
        """Tables, jobs and locks work on a cluster whose locks are there, also
        when its master and a tablet server are killed."""
        [s] = self.start_servers(1)
        os.environ["QUARRY_TARGET"] = "cluster:%s/quarry-cluster" % self.dir
        self.addCleanup(os.environ.pop, "QUARRY_TARGET")
        self.quarry("cluster", "start", "-n", "3", "--lock-service",
                    self.service([s.port]))
        self.addCleanup(self.quarry, "cluster", "stop", check=False)
        self.quarry("table", "create", "t", "--family", "f")
        for i in range(20):
            self.quarry("put", "t", "row%d" % i, "f:c=%d" % i)
        self.assertIn("sessions", self.quarry("lock", "--help"))
        self.assertIn("/bigtable/master", self.quarry("lock", "sessions"))
        self.quarry("lock", "put", "/note", "hello")
        self.assertIn("hello", self.quarry("lock", "cat", "/note"))
        self.assertIn("x:", self.quarry(
            "lock", "hold", "/nightly", "--", "sh", "-c",
            "echo $QUARRY_SEQUENCER"))
        master = self.leads("master")
        self.quarry("cluster", "kill", master)
        begun = time.monotonic()
        while True:
            if "quarry:" not in self.quarry("put", "t", "after", "f:c=1",
                                            check=False) and \
                    self.leads("master") not in (None, master):
                break
            self.assertLess(time.monotonic() - begun, 60)
            time.sleep(0.2)
        print("another master after %.1f s" % (time.monotonic() - begun))
        self.assertEqual(self.quarry("scan", "t", "--keys-only").count("row"),
                         20)
        self.quarry("cluster", "restart", master)
        with open(os.path.join(self.dir, "in.txt"), "w") as f:
            f.write("a b\nb\n")
        self.quarry("fs", "put", "in.txt", "/in.txt")
        self.quarry("job", "run", "word_count", "--input", "file:/in.txt",
                    "--output", "file:/out")
        self.assertIn("b\t2", self.quarry("fs", "cat", "/out/part-00000"))
        self.assertNotIn("failure", self.quarry("doctor", check=False))
        self.assertIn("namenode", self.quarry("member", "ls"))


def wait_port(port, alive, timeout=60):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if not alive():
                break
            time.sleep(0.1)
    raise RuntimeError("no server at port %d" % port)


class Server:
    """A process of a server that others run."""

    def __init__(self, words, port, log):
        self.words, self.port, self.log = words, port, log
        self.process = None

    def start(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log)

    def wait(self):
        wait_port(self.port, lambda: self.process.poll() is None)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.start()
        self.wait()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

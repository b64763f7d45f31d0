"""quarry top on a real terminal (tmux), on a bare one (a pty) and by --once: a hot table comes first,
a dead node is seen, Enter leads from a table to a tablet, every size of window is filled and none is
overflowed, and any end of it leaves the terminal as it was."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time

from processes import QUARRY, SECONDS, ClusterTest, main

TARGET = "cluster:quarry-cluster"
VIEWS = ("nodes", "tables", "tablets", "jobs", "calls", "findings")


class Tmux:
    """A shell in a tmux of its own."""

    def __init__(self, test, width=100, height=24):
        self.test = test
        self.height = height
        self.socket = test.path("tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  "env PS1=ready: sh")
        test.addCleanup(self.tmux, "kill-server")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], cwd=self.test.dir,
                              env=dict(self.test.env, TERM="screen", LC_ALL="C.UTF-8"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                              check=False).stdout.decode()

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, width, height):
        self.height = height
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def text(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.text().splitlines()

    def line(self, index):
        return (self.lines() + [""] * 60)[index]

    def await_line(self, index, part):
        try:
            self.test.wait_for(lambda: part in self.line(index))
        except AssertionError:
            self.test.fail("no %r in line %d of\n%s" % (part, index, self.text()))

    def await_keys_line(self):
        """The line of keys stands at the bottom, and nowhere else."""
        self.await_line(self.height - 1, "q end")
        self.test.assertEqual(self.text().count("q end"), 1, self.text())

    def await_shell(self, word):
        """The program has ended: the shell echoes again and has its screen."""
        try:
            self.test.wait_for(lambda: self.text().rstrip().endswith("ready:"))
        except AssertionError:
            self.test.fail("no prompt in\n" + self.text())
        self.keys("echo %s'%s'" % (word[0], word[1:]), "Enter")
        try:
            self.test.wait_for(lambda: word in self.text())
        except AssertionError:
            self.test.fail("no shell in\n" + self.text())
        self.test.assertIn("echo", self.tmux("capture-pane", "-p", "-S", "-"))
        self.test.assertNotIn("q end", self.text())


class Pty:
    """`quarry top` on a terminal whose bytes are kept."""

    def __init__(self, test, *args, width=80, height=24, **env):
        self.test = test
        self.bytes = b""
        self.fd, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        whole = {k: v for k, v in test.env.items() if k not in ("LC_ALL", "LANG", "LC_CTYPE")}
        whole.update(dict({"TERM": "xterm"}, **env))
        self.process = subprocess.Popen(
            [QUARRY, "top", "-t", TARGET, *args], cwd=test.dir, env=whole, stdin=slave,
            stdout=slave, stderr=slave, start_new_session=True)
        test.addCleanup(self.close)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)
        os.close(self.slave)

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            self.bytes += os.read(self.fd, 65536)

    def await_bytes(self, part, count=1):
        deadline = time.monotonic() + SECONDS
        while self.bytes.count(part) < count:
            self.test.assertLess(time.monotonic(), deadline, self.bytes)
            self.read(0.2)

    def press(self, keys):
        os.write(self.fd, keys)

    def await_end(self):
        """Its status; the terminal is as it was before."""
        self.test.wait_for(lambda: self.read(0.05) or self.process.poll() is not None)
        self.read(0.1)
        self.test.assertEqual(termios.tcgetattr(self.slave), self.before)
        # Its own screen is left, and the cursor shows again.
        self.test.assertIn(b"\x1b[?1049h", self.bytes)
        self.test.assertGreater(self.bytes.rfind(b"\x1b[?1049l"), self.bytes.rfind(b"\x1b[?1049h"))
        self.test.assertGreater(self.bytes.rfind(b"\x1b[?25h"), self.bytes.rfind(b"\x1b[?25l"))
        return self.process.returncode


class TopTest(ClusterTest):
    def top(self, *args):
        return "%s top -t %s %s" % (QUARRY, TARGET, " ".join(args))

    def write_hot(self):
        """A writer to one of three tables, until the test ends."""
        for table in ("cold", "hot", "warm"):
            self.ok("table", "create", table, "--family", "f", "-t", TARGET)
        stop = threading.Event()

        def write():
            while not stop.is_set():
                self.run_quarry("put", "hot", "row", "f:q=1", "-t", TARGET)
        writer = threading.Thread(target=write)
        writer.start()
        self.addCleanup(writer.join)
        self.addCleanup(stop.set)
        return stop

    def test_once(self):
        """Each view as text, JSON and CSV; wrong uses are refused with what to use."""
        self.loopback(1)
        self.ok("table", "create", "web", "--family", "f", "-t", TARGET)
        for view in VIEWS:
            table = ("--table", "web") if view == "tablets" else ()
            text = self.ok("top", "--once", "--view", view, *table, "-t", TARGET)
            self.assertIn(view, text.splitlines()[1])
        self.assertIn("web", self.ok("top", "--once", "--view", "tables", "-t", TARGET))
        doc = json.loads(self.ok("top", "--once", "--table", "web", "--format", "json", "-t", TARGET))
        self.assertEqual(doc["tablets"][0]["start"], "")
        self.assertIn("sentence", doc["overview"])
        rows = self.ok("top", "--once", "--filter", "n1", "--sort", "rss_bytes", "--format", "csv",
                       "-t", TARGET).splitlines()
        self.assertEqual(rows[1].split(",")[:2], ["n1", "up"])
        for args, part in ((("--view", "tablets"), b"--table"), (("--sort", "no"), b"no column"),
                           (("--view", "no"), b"nodes, tables"), (("--delay", "1ms"), b"200ms"),
                           (("-t", "file:x"), b"quarry table tablets")):
            done = self.run_quarry("top", "--once", "-t", TARGET, *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(part, done.stderr)

    def test_no_terminal(self):
        """Without a terminal, or with one that nobody knows, it fails, paints nothing and names
        --once."""
        self.loopback(1)
        done = self.run_quarry("top", "-t", TARGET)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--once", done.stderr)
        for term, word in (("no-such-terminal", b"no-such-terminal"), ("", b"TERM")):
            t = Pty(self, TERM=term)
            t.await_bytes(b"--once")
            self.wait_for(lambda: t.process.poll() is not None)
            self.assertEqual(t.process.returncode, 1)
            self.assertIn(word, t.bytes)
            self.assertNotIn(b"\x1b", t.bytes)

    def test_bare_terminal(self):
        """A terminal that is not UTF-8 gets ASCII alone, one that is gets UTF-8; q, Ctrl-C and
        signals give it back as it was."""
        c = self.loopback(1)
        name = "long" * 30
        self.ok("table", "create", name, "--family", "f", "-t", TARGET)
        for locale, cut in (("C", "long~"), ("C.UTF-8", "long…")):
            t = Pty(self, "--view", "tables", width=60, LC_ALL=locale)
            t.await_bytes(b"q end")
            t.await_bytes(b"long")
            t.press(b"h")
            t.await_bytes(b"1 nodes")
            t.press(b"h123456")
            t.await_bytes(b"findings")
            t.press(b"q")
            self.assertEqual(t.await_end(), 0)
            self.assertRegex(t.bytes.decode("ascii" if locale == "C" else "utf-8"),
                             "l[long]*%s" % cut[-1])
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            t = Pty(self)
            t.await_bytes(b"q end")
            if number == signal.SIGINT:
                t.press(b"\x03")
            # Ctrl-C comes from a terminal that is the process's own.
            t.process.send_signal(number)
            self.assertIn(t.await_end(), (0, -number))
        self.assertTrue(c.pid("n1"))

    def check_fits(self, t, width, height):
        """All views have their lines within the window."""
        t.resize(width, height)
        for key in "126543":
            t.keys(key)
            t.await_keys_line()
            lines = t.lines()
            self.assertLessEqual(len(lines), height)
            self.assertLessEqual(max(len(line) for line in lines), width, t.text())
            self.assertRegex(lines[1], "^(%s)" % "|".join(VIEWS))

    def test_screen(self):
        """Orders, filters, ways in and back, sizes of the window, a node that dies."""
        if not shutil.which("tmux"):
            self.skip("there is no tmux")
        c = self.loopback(3)
        stop = self.write_hot()
        t = Tmux(self)
        t.keys(self.top("--view", "tables"), "Enter")
        t.await_keys_line()
        t.keys("W")
        t.await_line(3, "hot")
        t.keys("r")
        t.await_line(5, "hot")
        t.keys("r")
        t.await_line(3, "hot")
        t.keys("Home", "Enter")
        t.await_line(1, "tablets hot")
        self.wait_for(lambda: "serving" in t.line(3))
        t.keys("Enter")
        t.await_line(1, "tablet (first)")
        self.wait_for(lambda: "memtables" in t.text())
        t.keys("Escape")
        t.await_line(1, "tables > tablets hot  1")
        t.keys("Escape")
        t.await_line(3, "hot")
        t.keys("/", "c", "o", "l", "Enter")
        t.await_line(3, "cold")
        t.await_line(1, "1 of 3")
        t.keys("Escape")
        stop.set()
        for width, height in ((80, 24), (200, 50), (40, 12), (20, 4)):
            if height > 6:
                self.check_fits(t, width, height)
            else:
                t.resize(width, height)
                self.wait_for(lambda: len(t.lines()) <= height)
        t.resize(120, 30)
        t.keys("1")
        t.await_keys_line()
        self.wait_for(lambda: [l for l in t.lines() if re.match("n3 +up", l)])
        c.kill("n3")
        begun = time.monotonic()
        self.wait_for(lambda: [l for l in t.lines() if re.match("n3 .* *down ", l)])
        print("a killed node is shown after %.1f s" % (time.monotonic() - begun), flush=True)
        t.keys("h")
        t.await_line(0, "1 nodes")
        t.keys("x")
        t.keys("q")
        t.await_shell("over")

    def test_ends(self):
        """A cluster that does not answer is told, and each end restores the terminal."""
        if not shutil.which("tmux"):
            self.skip("there is no tmux")
        c = self.loopback(1)
        c.kill("n1")
        t = Tmux(self, 80, 24)
        t.keys(self.top(), "Enter")
        t.await_line(0, "nobody answers")
        t.keys("h")
        t.await_line(0, "1 nodes")
        t.keys("C-c")
        t.await_shell("first")
        c.start("n1")
        t.keys("clear; sh -c 'echo $$ >pid; exec %s'" % self.top(), "Enter")
        t.await_line(23, "q end")
        with open(self.path("pid")) as f:
            os.kill(int(f.read()), signal.SIGTERM)
        t.await_shell("second")


if __name__ == "__main__":
    main()

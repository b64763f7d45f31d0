"""Shared by the tests of the command line: a scratch directory, and the binary
run in it as a user would.

Each test program is run as `test_NAME.py QUARRY [unittest arguments]`.
"""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

QUARRY = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "quarry"
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Bounds of what ends much sooner: of a command, and of a wait.
SECONDS_MAX = 180


def shared(relative):
    """A file of the shared data, or None after saying what is skipped."""
    top = os.environ.get("QUARRY_SHARED", os.path.join(ROOT, "..", "shared"))
    path = os.path.join(top, relative)
    if os.path.exists(path):
        return path
    print("SKIPPED: %s is not here (set QUARRY_SHARED)" % path, flush=True)
    return None


class CliTest(unittest.TestCase):
    """Every test has a directory of its own, which is the working directory of
    the commands; the store is its quarry-data."""

    maxDiff = None

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="quarry-cli-")
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("QUARRY_TARGET", "HOME")}
        self.env["HOME"] = self.dir
        # libedit keeps the names of functions that are added to it.
        self.write("lsan", "leak:wcsdup\n")
        self.env["LSAN_OPTIONS"] = "print_suppressions=0:suppressions=" + \
            self.path("lsan")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.use_cluster()

    def use_cluster(self):
        """With $QUARRY_TEST_TARGET (and $QUARRY_TEST_KEY) the store is that
        cluster, without tables."""
        target = os.environ.get("QUARRY_TEST_TARGET")
        if not target:
            return
        self.env["QUARRY_TARGET"] = target
        self.env["QUARRY_KEY"] = os.environ.get("QUARRY_TEST_KEY", "")
        for row in self.json("table", "list"):
            self.ok("table", "drop", row["table"])

    def embedded_only(self, reason):
        """For a test of what a cluster has not."""
        if os.environ.get("QUARRY_TEST_TARGET"):
            print("SKIPPED %s: %s" % (self.id(), reason), flush=True)
            self.skipTest(reason)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(self.path(name), mode) as f:
            f.write(text)
        return name

    def run_quarry(self, *args, stdin=None):
        """Run one command. Returns the completed process; output as bytes."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run([QUARRY, *args], cwd=self.dir, env=self.env,
                              input=stdin if stdin is not None else b"",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=SECONDS_MAX + 60, check=False)
        for sign in (b"Sanitizer", b"runtime error", b"panic at"):
            self.assertNotIn(sign, done.stderr, done.stderr.decode())
        return done

    def ok(self, *args, stdin=None):
        """A command that succeeds; returns what it printed."""
        done = self.run_quarry(*args, stdin=stdin)
        self.assertEqual(done.returncode, 0, "%s: %s" % (
            " ".join(args), done.stderr.decode()))
        return done.stdout.decode()

    def fails(self, status, *args, stdin=None):
        """A command that fails with @status; returns its one-line message."""
        done = self.run_quarry(*args, stdin=stdin)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, status, "%s: exit %d: %s" % (
            " ".join(args), done.returncode, message))
        last = message.strip().splitlines()[-1] if message.strip() else ""
        self.assertTrue(last.startswith("quarry: "), message)
        return last

    def start(self, *args):
        """Start a command that the test ends; nobody reads what it says."""
        return subprocess.Popen([QUARRY, *args], cwd=self.dir, env=self.env,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def wait_for(self, condition, seconds=SECONDS_MAX):
        """Until @condition() holds; returns what it gave."""
        return self.wait_to_see(condition, bool, seconds)

    def wait_to_see(self, look, fits, seconds=SECONDS_MAX):
        """Until fits(look()); returns what was seen."""
        deadline = time.monotonic() + seconds
        while not fits(seen := look()):
            if time.monotonic() > deadline:
                self.fail("seen for %d s: %s" % (seconds, seen))
            time.sleep(0.05)
        return seen

    def run(self, result=None):
        self.outcome = result or self.defaultTestResult()
        return super().run(self.outcome)

    def has_failed(self):
        """In a clean-up: has the test come to no good?"""
        return any(getattr(test, "test_case", test) is self for test, _ in
                   self.outcome.failures + self.outcome.errors)

    def json(self, *args, stdin=None):
        """The objects that a command prints with --format json."""
        text = self.ok(*args, "--format", "json", stdin=stdin)
        return [json.loads(line) for line in text.splitlines()]

    def table(self, name="t", *families):
        options = []
        for family in families or ("f",):
            options += ["--family", family]
        self.ok("table", "create", name, *options)

    def dirs_below(self, name):
        return [base for base, _, _ in os.walk(self.path(name))]

    def files_below(self, name):
        return sorted(os.path.join(base, f)
                      for base, _, names in os.walk(self.path(name))
                      for f in names)


class Terminal:
    """A command on a pseudo-terminal: what is typed, and what it shows.

    A shell shows its prompt before its line editor listens, and the editor of
    the line before listens for a while after the end of that: what is typed in
    between is the terminal's own, or dropped. So keys are for a prompt that
    was seen since the line before ended (prompt()), and once the editor
    listens; a line has ended when the cursor is on the next one (line()), which
    is the last that the editor shows of it.
    """

    def __init__(self, test, *args, columns=80):
        self.test = test
        self.status = None
        self.seen = b""  # Since the last wait,
        self.shown = b""  # and ever.
        self.at_prompt = False
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ,
                        struct.pack("HHHH", 40, columns, 0, 0))
            os.chdir(test.dir)
            env = dict(test.env, TERM="xterm", COLUMNS=str(columns))
            os.execve(QUARRY, [QUARRY, *args], env)
        test.addCleanup(self.kill)

    def fail(self, what):
        self.test.fail("%s; last seen: %r; all that was shown:\n%s" % (
            what, self.seen, self.shown.decode("utf-8", "replace")))

    # --- keys

    def is_raw(self):
        return not termios.tcgetattr(self.fd)[3] & termios.ICANON

    def press(self, keys):
        """Send keys to the program that reads the terminal."""
        os.write(self.fd, keys.encode())

    def type(self, text):
        """At a prompt, without the end of the line."""
        self.test.assertTrue(self.at_prompt, "no prompt was waited for")
        self.test.wait_for(self.is_raw)
        self.press(text)

    def line(self, text, end="\r"):
        """A line with its end, which may be Ctrl-C or Ctrl-D."""
        self.type(text + end)
        self.wait_for("\r\n")
        self.at_prompt = False

    def prompt(self, text="quarry> "):
        """Wait for the prompt of the next line; returns what was shown since
        the last wait."""
        self.test.assertFalse(self.at_prompt, "the line has not ended")
        shown = self.wait_for(text)
        self.at_prompt = True
        return shown

    # --- holding

    def flow(self, action):
        with open("/proc/%d/fd/0" % self.pid, "rb", buffering=0) as tty:
            termios.tcflow(tty, action)

    def bytes_read(self):
        with open("/proc/%d/io" % self.pid) as f:
            return int(f.readline().split()[1])

    def hold(self, key):
        """Press @key; returns when the command has read it, and it stops where
        it writes, as by Ctrl-S, until release(). PRE: it reads nothing else."""
        self.flow(termios.TCOOFF)
        before = self.bytes_read()
        self.press(key)
        self.test.wait_for(lambda: self.bytes_read() > before)

    def release(self):
        self.flow(termios.TCOON)

    # --- what it shows

    def read(self, seconds):
        """Take what comes within @seconds; False: nothing comes any more."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self.fd, 65536)
        except OSError:
            part = b""
        self.seen += part
        self.shown += part
        return part != b""

    def wait_for(self, text):
        """Read until @text was shown; returns everything since the last wait.
        """
        deadline = time.monotonic() + SECONDS_MAX
        while text.encode() not in self.seen:
            if not self.read(0.2):
                self.fail("it ended before %r" % text)
            if time.monotonic() > deadline:
                self.fail("no %r" % text)
        at = self.seen.index(text.encode()) + len(text.encode())
        shown, self.seen = self.seen[:at], self.seen[at:]
        return shown.decode("utf-8", "replace")

    # --- the end

    def has_ended(self):
        if self.status is None:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def close(self):
        """Wait for the end, which is to be good."""
        deadline = time.monotonic() + SECONDS_MAX
        while not self.has_ended():
            if not self.read(0.1):
                time.sleep(0.01)
            if time.monotonic() > deadline:
                self.fail("it does not end")
        if self.status:
            self.fail("it ended with %d" % self.status)

    def kill(self):
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.status = -signal.SIGKILL


class TimedResult(unittest.TextTestResult):
    """Reports how long each test took: all checks wait for that."""

    def startTest(self, test):
        self.started = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(" %6.2f s %s" % (time.monotonic() - self.started,
                                             test.id()))


def main():
    unittest.main(testRunner=unittest.TextTestRunner(resultclass=TimedResult))

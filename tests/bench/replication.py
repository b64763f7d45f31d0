"""A stream of replication between two nodes of `quarry server` on loopback.

    replication.py [--rows N] [--seconds S] [--rounds N]

- full: the rate of six writers of synced batches while the stream is paused;
- catch-up: the rate at which the stream sends that once it is resumed, beside
  half of the full rate, and the processors' time of a row: sent, of both nodes,
  and written, of the writers and their node;
- lag: at parts of the full rate, from a commit to its commit at the other end;
- verify: bytes that the client that compares the equal tables has read.

Each round has nodes of its own; the figures are medians of the rounds.

Environment: QUARRY_BUILD (a build directory), TMPDIR.
"""

import argparse
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from cell import QUARRY, ROWS, row, say

LOADS = 25, 50, 75  # Per cent of the full rate.
TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Node:
    def __init__(self, top, name):
        self.target = "127.0.0.1:%d" % free_port()
        self.process = subprocess.Popen(
            [QUARRY, "server", "--data", os.path.join(top, name), "--listen",
             self.target], stdout=subprocess.PIPE,
            stderr=open(os.path.join(top, name + ".log"), "wb"))
        self.process.stdout.readline()

    def quarry(self, *words):
        env = dict(os.environ, QUARRY_TIMEOUT="60s")
        return subprocess.run([QUARRY, "-t", self.target, *words], check=True,
                              stdout=subprocess.PIPE, env=env, text=True,
                              stderr=subprocess.DEVNULL).stdout

    def cpu_ms(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_MS

    def end(self):
        self.process.terminate()
        self.process.wait()


def rows_tool(node, mode, *words):
    """Run bench_rows: its rows/s, and the processor's time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([ROWS, mode, node.target, "", "t",
                           *(str(w) for w in words)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(said), cpu * 1000


def changes(node):
    """(origin or own time, commit time) of each change of @node."""
    for line in node.quarry("changes", "t").splitlines():
        c = json.loads(line)
        yield c.get("origin", {}).get("commit", c["commit"]), c["commit"]


def await_sent(node, count):
    """Until the stream has dealt with @count changes in all."""
    while True:
        for line in node.quarry("follow", "show", "replication/west").splitlines():
            words = line.split()
            if words[:1] == ["changes"] and int(words[1]) >= count:
                return
        time.sleep(0.5)


def bytes_read(words):
    """Of a process: what it has read in all, its program and keys included."""
    p = subprocess.Popen([QUARRY, *words], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    last = 0
    while p.poll() is None:
        try:
            with open("/proc/%d/io" % p.pid) as f:
                last = max(last, int(f.readline().split()[1]))
        except (OSError, IndexError):
            pass
        time.sleep(0.005)
    if p.returncode:
        sys.exit(p.stderr.read())
    return last


class Round:
    """One table, its stream, and what was measured of it."""

    def __init__(self, o, a, b):
        self.o, self.a, self.b = o, a, b
        self.written = 0
        self.figures = {}

    def cpu_ms(self):
        return self.a.cpu_ms() + self.b.cpu_ms()

    def catch_up(self):
        self.a.quarry("replication", "pause", "west")
        time.sleep(3)
        cpu = self.a.cpu_ms()
        full, client = rows_tool(self.a, "fill", 0, self.o.rows)
        self.written = self.o.rows
        write_cpu = (self.a.cpu_ms() - cpu + client) * 1e3 / self.o.rows
        cpu = self.cpu_ms()
        self.a.quarry("replication", "resume", "west")
        await_sent(self.a, self.written)
        cpu = (self.cpu_ms() - cpu) * 1e3 / self.o.rows
        times = sorted(commit for _, commit in changes(self.b))
        rate = (len(times) - 1) * 1e6 / (times[-1] - times[0])
        say("written at %.0f rows/s, %.1f us of CPU a row; sent at %.0f rows/s, "
            "%.1f us" % (full, write_cpu, rate, cpu))
        self.figures.update({
            "full": full, "rate": rate, "catch": rate / (full / 2),
            "write cpu": write_cpu, "cpu": cpu, "cpu ratio": write_cpu / cpu})

    def lag(self, percent):
        count = int(self.figures["full"] * percent / 100 * self.o.seconds)
        since = int(time.time() * 1e6)
        rate, _ = rows_tool(self.a, "pace", self.written, count,
                            int(self.figures["full"] * percent / 100))
        self.written += count
        await_sent(self.a, self.written)
        late = sorted(c - g for g, c in changes(self.b) if g > since)
        p99 = late[len(late) * 99 // 100] / 1e3
        median = late[len(late) // 2] / 1e3
        say("%d %% of it, %.0f rows/s: median %.0f ms, p99 %.0f ms, longest "
            "%.0f ms" % (percent, rate, median, p99, late[-1] / 1e3))
        self.figures["lag %d median" % percent] = median / 1e3
        self.figures["lag %d" % percent] = p99 / 1e3

    def verify(self):
        read = bytes_read(["-t", self.a.target, "replication", "verify", "t",
                           "--to", self.b.target])
        self.figures["verify"] = 100 * read / (self.written * 1010)


def measure(o):
    top = tempfile.mkdtemp(prefix="quarry-replication.")
    a, b = Node(top, "a"), Node(top, "b")
    try:
        a.quarry("table", "create", "t", "--family", "f", "--changes", "1d")
        a.quarry("replication", "create", "west", "t", "--to", b.target,
                 "--create")
        r = Round(o, a, b)
        r.catch_up()
        for percent in LOADS:
            r.lag(percent)
        r.verify()
        return r.figures
    finally:
        a.end()
        b.end()
        shutil.rmtree(top, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=200000)
    p.add_argument("--seconds", type=int, default=15)
    p.add_argument("--rounds", type=int, default=3)
    o = p.parse_args()
    rounds = [measure(o) for _ in range(o.rounds)]
    m = {name: sorted(r[name] for r in rounds)[o.rounds // 2]
         for name in rounds[0]}
    for percent in LOADS:
        row("replication: lag p99 at %d %% of full load" % percent,
            m["lag %d" % percent], 1, "s")
    print("replication: catch-up\t%.0f\t%.0f\t%.2f\trows/s" % (
        m["rate"], 3 * m["full"] / 2, m["catch"] / 3))
    print("replication: cpu, sent and written\t%.1f\t%.1f\t%.2f\tus/row" % (
        m["cpu"], m["write cpu"], m["cpu ratio"]))
    row("replication: verify, bytes of the data", m["verify"], 1, "%")


if __name__ == "__main__":
    main()

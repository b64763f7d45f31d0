"""A stream of replication between two nodes of `quarry server` on loopback.

    replication.py [--rows N] [--value BYTES] [--seconds S]

- full: the rate at which one import writes while the stream is paused;
- catch-up: the rate at which the stream sends that once it is resumed, and the
  processors' time of both nodes for a row;
- lag: at half of the full rate, from a commit to its commit at the other end;
- verify: bytes that the client that compares the equal tables has read.

Environment: QUARRY_BUILD (a build directory), TMPDIR.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from cell import QUARRY, row, say

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
PACE = 20  # Chunks a second of a paced writer.


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


def lines(begin, count, value):
    """Rows all over the table, in no order."""
    for i in range(begin, begin + count):
        text = str(i * 2654435761 % 10 ** 10)
        yield "%s,%s\n" % (text.zfill(10), (text * value)[:value])


def start_import(node):
    p = subprocess.Popen(
        [QUARRY, "-t", node.target, "import", "csv", "-", "--into", "t",
         "--key", "key", "--family", "f", "--no-create"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, text=True)
    p.stdin.write("key,f:v\n")
    return p


def end_import(p):
    p.stdin.close()
    if p.wait():
        sys.exit("the import failed")


def write_all(node, begin, count, value):
    at = time.monotonic()
    p = start_import(node)
    p.stdin.writelines(lines(begin, count, value))
    end_import(p)
    return count / (time.monotonic() - at)


def write_paced(node, begin, rate, seconds, value):
    p = start_import(node)
    chunk = max(int(rate / PACE), 1)
    start = time.monotonic()
    for i in range(int(seconds * PACE)):
        p.stdin.writelines(lines(begin + i * chunk, chunk, value))
        p.stdin.flush()
        time.sleep(max(start + (i + 1) / PACE - time.monotonic(), 0))
    end_import(p)
    return chunk * int(seconds * PACE)


def changes(node):
    """(origin or own time, commit time) of each change of @node."""
    for line in node.quarry("changes", "t").splitlines():
        c = json.loads(line)
        yield c.get("origin", {}).get("commit", c["commit"]), c["commit"]


def await_rows(node, count):
    while int(node.quarry("count", "t").split()[-1]) < count:
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


def measure(o, a, b):
    a.quarry("table", "create", "t", "--family", "f", "--changes", "1d")
    a.quarry("replication", "create", "west", "t", "--to", b.target, "--create")
    a.quarry("replication", "pause", "west")
    time.sleep(3)
    full = write_all(a, 0, o.rows, o.value)
    say("%d rows of %d bytes at %.0f rows/s" % (o.rows, o.value, full))
    cpu = a.cpu_ms() + b.cpu_ms()
    a.quarry("replication", "resume", "west")
    await_rows(b, o.rows)
    cpu = a.cpu_ms() + b.cpu_ms() - cpu
    times = sorted(commit for _, commit in changes(b))
    rate = (len(times) - 1) * 1e6 / (times[-1] - times[0])
    say("caught up at %.0f rows/s" % rate)
    more = write_paced(a, o.rows, full / 2, o.seconds, o.value)
    await_rows(b, o.rows + more)
    fresh = sorted(c - g for g, c in changes(b) if g > times[-1])
    say("lag of %d rows: median %.0f ms, p99 %.0f ms, longest %.0f ms" % (
        len(fresh), fresh[len(fresh) // 2] / 1e3,
        fresh[len(fresh) * 99 // 100] / 1e3, fresh[-1] / 1e3))
    net = bytes_read(["-t", a.target, "replication", "verify", "t", "--to",
                      b.target])
    total = (o.rows + more) * (o.value + 10)
    row("replication: lag p99 at half load", fresh[len(fresh) * 99 // 100] / 1e6,
        1, "s")
    print("replication: catch-up\t%.0f\t%.0f\t%.2f\trows/s" % (
        rate, 3 * full / 2, rate / (3 * full / 2)))
    print("replication: cpu of a row\t%.1f\t\t\tus" % (cpu * 1e3 / o.rows))
    row("replication: verify, bytes of the data", 100 * net / total, 1, "%")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=200000)
    p.add_argument("--value", type=int, default=1000)
    p.add_argument("--seconds", type=int, default=30)
    o = p.parse_args()
    top = tempfile.mkdtemp(prefix="quarry-replication.")
    nodes = [Node(top, "a"), Node(top, "b")]
    try:
        measure(o, *nodes)
    finally:
        for n in nodes:
            n.end()
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()

"""A cluster of real processes on loopback, for benchmarks: three nodes with the
lock service, files and the master, and tablet servers that are processes by
themselves.

    with Cell(servers=3, tablet="split = 1TiB", master="balance = 1d") as c:
        c.quarry("table", "create", "t", "--family", "f")
        c.rows("fill", "t", "0", "100000")
        os.kill(c.pid("n4"), signal.SIGKILL)

Environment: QUARRY_BUILD (a build directory with QUARRY_BENCH), TMPDIR.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("QUARRY_BUILD", "build/bench")
QUARRY = os.path.abspath(os.path.join(BUILD, "quarry"))
ROWS = os.path.abspath(os.path.join(BUILD, "tests/bench/bench_rows"))
CELL = 3  # Nodes of the cell.
SECONDS = 180


def say(text):
    print(text, file=sys.stderr, flush=True)


def row(name, ours, bar, unit):
    """One line of a benchmark: @bar is what it should not be above."""
    print("%s\t%.3f\t%.3f\t%.2f\t%s" % (name, ours, bar, bar / max(ours, 1e-6),
                                        unit), flush=True)


class Cell:
    def __init__(self, servers, tablet="", master=""):
        """@tablet, @master: lines of their sections."""
        self.top = tempfile.mkdtemp(prefix="quarry-cell.")
        self.data = os.path.join(self.top, "cell")
        self.target = "cluster:" + self.data
        self.servers = ["n%d" % (CELL + 1 + i) for i in range(servers)]
        self.nodes = ["n%d" % (1 + i) for i in range(CELL)] + self.servers
        self.sections = {"tablet": "[tablet]\n%s\n" % tablet,
                         "cell": "[master]\n%s\n" % master}

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        subprocess.run([QUARRY, "cluster", "stop", "--data", self.data],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=False)
        shutil.rmtree(self.top, ignore_errors=True)

    # --- nodes

    def dir(self, node):
        return os.path.join(self.data, node)

    def conf(self, node):
        with open(os.path.join(self.dir(node), "server.conf")) as f:
            return f.read()

    def address(self, node):
        return re.search(r"(?m)^listen = (\S+)", self.conf(node)).group(1)

    def pid(self, node):
        with open(os.path.join(self.dir(node), "pid")) as f:
            return int(f.read())

    def log(self, node):
        with open(os.path.join(self.dir(node), "log"), errors="replace") as f:
            return f.read()

    def cluster(self, *words):
        subprocess.run([QUARRY, "cluster", *words, "--data", self.data],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True)

    def make(self):
        """As if each node had had its roles from the first."""
        self.cluster("start", "-n", str(len(self.nodes)))
        for node in self.nodes:
            os.kill(self.pid(node), signal.SIGKILL)
        cell = ",".join(self.address(n) for n in self.nodes[:CELL])
        for node in self.nodes:
            self.configure(node, cell)
        self.cluster("start")
        self.await_served()

    def configure(self, node, cell):
        kind = "tablet" if node in self.servers else "cell"
        roles = {"tablet": "tablet", "cell": "lock,namenode,chunk,master"}[kind]
        text = re.sub("(?m)^roles = .*$", "roles = " + roles, self.conf(node))
        text = re.sub("(?m)^cell = .*$", "cell = " + cell, text)
        with open(os.path.join(self.dir(node), "server.conf"), "w") as f:
            f.write(text + self.sections[kind])
        for entry in os.scandir(self.dir(node)):
            if entry.is_dir():
                shutil.rmtree(entry.path)

    # --- tables

    def quarry(self, *words):
        done = subprocess.run([QUARRY, "-t", self.target, *words],
                              stdout=subprocess.PIPE, check=True, text=True)
        return done.stdout

    def rows_command(self, mode, table, *words):
        return [ROWS, mode, ",".join(self.address(n) for n in self.nodes[:CELL]),
                os.path.join(self.data, "key"), table, *words]

    def rows(self, mode, table, *words):
        return subprocess.run(self.rows_command(mode, table, *words),
                              stdout=subprocess.PIPE, check=True,
                              text=True).stdout

    def said(self, role):
        """The state of @role on each node that answers: {node: {key: value}}."""
        out = {}
        text = self.quarry("cluster", "status", "--format", "json", "--data",
                           self.data)
        for r in map(json.loads, text.splitlines()):
            if r["role"] == role:
                out[r["node"]] = dict(re.findall(r"([a-z-]+)=(\S*)",
                                                 r["detail"]))
        return out

    def master(self):
        """(node, what it says) of the active master, or (None, {})."""
        for node, said in self.said("master").items():
            if said.get("master") == "yes":
                return node, said
        return None, {}

    def await_served(self, servers=None):
        until = time.monotonic() + SECONDS
        want = len(self.servers) if servers is None else servers
        while True:
            _, said = self.master()
            if said.get("ready") == "yes" and said.get("unassigned") == "0" \
                    and said.get("recovering") == "0" and \
                    int(said.get("servers", 0)) >= want:
                return
            if time.monotonic() > until:
                raise TimeoutError("not all is served: %r" % said)
            time.sleep(0.2)

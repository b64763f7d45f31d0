"""Clusters of real processes for tests: on loopback by `quarry cluster`, or on
hosts of their own in network namespaces, where links can be cut.

    class MyTest(ClusterTest):
        def test_x(self):
            c = self.loopback(3)              # started, every node answers
            c.kill(c.leader("lock"))          # kill -9
            c.pause("n2"); c.resume("n2")     # SIGSTOP, SIGCONT
            c.start("n1")

        def test_y(self):
            c = self.network(3)               # skips where it cannot be had
            c.cut("n1", "n2")                 # n1's packets to n2 are lost
            c.isolate("n3"); c.heal()         # network.py has more of these
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from harness import QUARRY, CliTest, main  # noqa: E402,F401
from ports import free_ports  # noqa: E402,F401

# Bounds of what ends much sooner, for machines that are busy with other things.
SECONDS = 180
PID_SECONDS = 10
# Of each log of a cluster whose test has failed.
TOLD_LINES = 40
# A cell alone: nodes that serve no tables, whose logs would be files, too.
CELL = "lock,namenode,chunk"
# Roles of nodes of a cell, and of what is beside it.
ALL_ROLES = "lock,namenode,chunk,tablet,master,jobs,worker"
OTHER_ROLES = "chunk,tablet,worker"
CELL_MAX = 5


def voters_of(members, service):
    """{address: id} of those that the leader hears; @members: the rows of
    `quarry member ls`."""
    return {r["address"]: int(r["member"]) for r in members
            if r["service"] == service and r["answers"] == "yes" and
            r["role"] in ("leader", "voter") and int(r["behind"]) < 100}


class Cluster:
    """The common part of both kinds; nodes are "n1", "n2", …"""

    def __init__(self, test, count):
        self.test = test
        self.names = ["n%d" % (i + 1) for i in range(count)]
        self.paused = set()

    def dir(self, name):
        return os.path.join(self.test.dir, self.data, name)

    def pid(self, name):
        """The running process of a node, or None."""
        try:
            with open(os.path.join(self.dir(name), "pid")) as f:
                pid = int(f.read())
            with open("/proc/%d/stat" % pid) as f:
                said = f.read().split(") ")[1].split()
        except (OSError, ValueError):
            return None
        # A killed process holds its locks until all its threads, of which one
        # may wait for the disk, have ended.
        return None if said[0] == "Z" and said[17] == "1" else pid

    def signal(self, name, number):
        # One that has just been started answers before it writes its pid file.
        end = time.monotonic() + PID_SECONDS
        while (pid := self.pid(name)) is None and time.monotonic() < end:
            time.sleep(0.05)
        self.test.assertIsNotNone(pid, "%s does not run" % name)
        os.kill(pid, number)
        return pid

    def await_gone(self, name, pid, seconds=SECONDS):
        def gone():
            return self.pid(name) != pid
        self.test.wait_for(gone, seconds)

    def kill(self, name):
        """kill -9, also of a paused one."""
        self.await_gone(name, self.signal(name, signal.SIGKILL))
        self.paused.discard(name)

    def stop(self, name):
        self.await_gone(name, self.signal(name, signal.SIGTERM))

    def pause(self, name):
        self.signal(name, signal.SIGSTOP)
        self.paused.add(name)

    def resume(self, name):
        self.signal(name, signal.SIGCONT)
        self.paused.discard(name)

    def log(self, name):
        with open(os.path.join(self.dir(name), "log"), errors="replace") as f:
            return f.read()

    @staticmethod
    def pairs(row):
        """The details of a row of the status, {key: value}."""
        return dict(re.findall(r"([a-z-]+)=(\S*)", row["detail"]),
                    health=row["health"])

    def files(self):
        """The file system's part of the status, once there is one."""
        found = []

        def told():
            row, = [r for r in self.whole_status() if r["node"] == "all"]
            found[:] = [self.pairs(row)] if row["state"] == "up" else []
            return found
        self.test.wait_for(told)
        return found[0]

    def status(self):
        """The rows of nodes."""
        return [r for r in self.whole_status() if r["node"] != "all"]

    def roles(self, name):
        """{role: {key: value}} of a node that answers, else {}."""
        out = {}
        for row in self.status():
            if row["node"] == name and row["state"] == "up" and row["role"]:
                out[row["role"]] = self.pairs(row)
        return out

    def answer(self, name):
        """The roles of a node that runs, once it answers: on a machine that is
        busy it is silent now and then."""
        found = {}

        def told():
            found.update(self.roles(name))
            return found
        self.test.wait_for(told)
        return found

    def leaders(self, role):
        """The nodes that say that they lead."""
        return [row["node"] for row in self.status()
                if row["role"] == role and "state=leader" in row["detail"]]

    def leader(self, role, seconds=SECONDS, other_than=()):
        """Wait until one node leads, and return it."""
        found = []

        def has():
            found[:] = [n for n in self.leaders(role) if n not in other_than]
            return len(found) == 1
        self.test.wait_for(has, seconds)
        return found[0]

    def await_answers(self, names, seconds=SECONDS):
        def all_up():
            up = {r["node"] for r in self.status() if r["state"] == "up"}
            return set(names) <= up
        self.test.wait_for(all_up, seconds)

    def end(self):
        """Whatever still runs is ended, and must not have crashed."""
        for name in list(self.paused):
            self.resume(name)
        if self.test.has_failed():
            self.tell()
        if any(self.pid(name) for name in self.names):
            # In order: one after the other would each wait in vain for a cell
            # that is gone.
            self.test.run_quarry("cluster", "stop", "--data",
                                 os.path.join(self.test.dir, self.data))
        for name in self.names:
            if self.pid(name):
                self.stop(name)
        self.check_output()

    def tell(self):
        """Print what helps to understand a failed test."""
        for name in self.names:
            for file in ("log", "out"):
                try:
                    with open(os.path.join(self.dir(name), file),
                              errors="replace") as f:
                        lines = f.readlines()
                except OSError:
                    continue
                print("--- %s of %s, %d lines, the last of them:" % (
                    file, name, len(lines)))
                print("".join(lines[-TOLD_LINES:]), flush=True)

    def check_output(self):
        for name in self.names:
            path = os.path.join(self.dir(name), "out")
            text = ""
            if os.path.exists(path):
                with open(path, errors="replace") as f:
                    text = f.read()
            for sign in ("Sanitizer", "runtime error", "panic at"):
                self.test.assertNotIn(sign, text, "%s: %s" % (name, text))


class Loopback(Cluster):
    """`quarry cluster` in the test's directory."""

    data = "quarry-cluster"

    def begin(self, roles, settings):
        """@settings: more lines of each server.conf, from its first start on.
        """
        if roles or settings:
            self.make_nodes(roles, settings)
            self.test.ok("cluster", "start")
        else:
            self.test.ok("cluster", "start", "-n", str(len(self.names)))

    def make_nodes(self, roles, settings):
        """As `cluster start` makes it, but for roles and settings."""
        count = len(self.names)
        top = os.path.join(self.test.dir, self.data)
        ports = free_ports(2 * count)
        at = ["127.0.0.1:%d" % port for port in ports]
        cell = at[:min(count, CELL_MAX) - (min(count, CELL_MAX) + 1) % 2]
        os.mkdir(top, 0o700)
        key = os.path.join(top, "key")
        with open(key, "w") as f:
            f.write(os.urandom(16).hex() + "\n")
        os.chmod(key, 0o600)
        for i, name in enumerate(self.names):
            where = self.dir(name)
            os.mkdir(where, 0o700)
            own = ALL_ROLES if at[i] in cell else OTHER_ROLES
            with open(os.path.join(where, "server.conf"), "w") as f:
                f.write("[server]\nname = %s\ndata = \"%s\"\nlisten = %s\n"
                        "console = %s\ncell = %s\nroles = %s\nrack = r%d\n"
                        "key = \"%s\"\nlog = \"%s/log\"\n"
                        "pid-file = \"%s/pid\"\n%s" % (
                            name, where, at[i], at[count + i], ",".join(cell),
                            roles or own, i + 1, key, where, where, settings))

    def set_roles(self, name, roles):
        path = os.path.join(self.dir(name), "server.conf")
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(re.sub("(?m)^roles = .*$", "roles = " + roles, text))

    def whole_status(self):
        return self.test.json("cluster", "status")

    def start(self, name, wait=True):
        if wait:
            self.test.ok("cluster", "restart", name)
        else:
            process = self.test.start("cluster", "restart", name)
            self.test.addCleanup(process.wait)


class ClusterTest(CliTest):
    def setUp(self):
        super().setUp()
        # A command of a user would give up sooner.
        self.env["QUARRY_TIMEOUT"] = "%ds" % SECONDS

    def begun(self, cluster, *how):
        """It is started; one that does not come up says why."""
        self.addCleanup(cluster.end)
        cluster.begin(*how)
        return cluster

    def loopback(self, count, roles=None, settings=""):
        return self.begun(Loopback(self, count), roles, settings)

    def skip(self, why):
        print("SKIPPED: %s: %s" % (self.id(), why), flush=True)
        raise unittest.SkipTest(why)

    def network(self, count, roles=None, **faults):
        """@faults: disks=BYTES, clocks=True, options=TEXT; see network.py."""
        from network import Network, missing  # It needs Cluster.
        why = missing(**faults)
        if why:
            self.skip(why)
        return self.begun(Network(self, count, **faults), roles)

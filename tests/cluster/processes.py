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
            c.isolate("n3"); c.heal()
"""

import json
import os
import re
import shutil
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
# Of each log of a cluster whose test has failed.
TOLD_LINES = 40
# A cell alone: nodes that serve no tables, whose logs would be files, too.
CELL = "lock,namenode,chunk"


class Cluster:
    """What both kinds have in common; nodes are "n1", "n2", …"""

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
        # What a killed one holds it holds until all its threads, of which one
        # may wait for the disk, have ended.
        return None if said[0] == "Z" and said[17] == "1" else pid

    def signal(self, name, number):
        pid = self.pid(name)
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
        """What a row of the status says, {key: value}."""
        return dict(re.findall(r"([a-z-]+)=(\S*)", row["detail"]),
                    health=row["health"])

    def files(self):
        """What the status says of the file system, once it can."""
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
        """What a failed test leaves for people."""
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

    def begin(self, roles):
        self.test.ok("cluster", "start", "-n", str(len(self.names)))
        if roles:
            # Only the configuration is kept: as if it had been so at first.
            for name in self.names:
                self.kill(name)
                self.forget(name)
                self.set_roles(name, roles)
            self.test.ok("cluster", "start")

    def forget(self, name):
        for entry in os.scandir(self.dir(name)):
            if entry.is_dir():
                shutil.rmtree(entry.path)

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


class Network(Cluster):
    """Each node in a network namespace of its own, joined by a bridge."""

    data = "net"
    serial = 0

    def __init__(self, test, count):
        super().__init__(test, count)
        Network.serial += 1
        self.tag = "q%d_%d" % (os.getpid() % 10000, Network.serial)
        self.bridge = self.tag + "br"
        # Of other tests under way neither the addresses nor the key.
        self.subnet = "10.%d.%d" % (100 + os.getpid() % 100,
                                    Network.serial % 250)
        self.processes = {}
        self.blackholes = []
        # Behind end(), which stops them in order.
        test.addCleanup(self.remove_network)

    def begin(self, roles):
        self.make_network()
        self.make_config("roles = %s\n" % roles if roles else "")
        for name in self.names:
            self.start(name, wait=False)
        self.await_answers(self.names)

    # --- the network

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)

    def ns(self, name):
        return self.tag + name

    def host(self, name):
        return "%s.%d" % (self.subnet, 10 + self.names.index(name))

    def link(self, name):
        return self.tag + name + "v"

    def make_network(self):
        self.ip("link", "add", self.bridge, "type", "bridge")
        self.ip("addr", "add", self.subnet + ".1/24", "dev",
                self.bridge)
        self.ip("link", "set", self.bridge, "up")
        for name in self.names:
            ns, outer, inner = self.ns(name), self.link(name), "eth0"
            self.ip("netns", "add", ns)
            self.ip("link", "add", outer, "type", "veth", "peer", "name",
                    inner, "netns", ns)
            self.ip("link", "set", outer, "master", self.bridge, "up")
            self.ip("-n", ns, "addr", "add", self.host(name) + "/24", "dev",
                    inner)
            self.ip("-n", ns, "link", "set", inner, "up")
            self.ip("-n", ns, "link", "set", "lo", "up")

    def remove_network(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", self.ns(name)], check=False,
                           stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.bridge], check=False,
                       stderr=subprocess.DEVNULL)

    def cut(self, sender, receiver):
        """What @sender sends to @receiver is lost; not the other way."""
        where = ["-n", self.ns(sender), "route", "add", "blackhole",
                 self.host(receiver) + "/32"]
        self.ip(*where)
        self.blackholes.append((sender, receiver))

    def isolate(self, name):
        self.ip("link", "set", self.link(name), "down")

    def heal(self):
        for sender, receiver in self.blackholes:
            self.ip("-n", self.ns(sender), "route", "del", "blackhole",
                    self.host(receiver) + "/32")
        self.blackholes = []
        for name in self.names:
            self.ip("link", "set", self.link(name), "up")

    # --- processes

    def address(self, name):
        return self.host(name) + ":7400"

    def make_config(self, roles_line):
        top = os.path.join(self.test.dir, self.data)
        cell = ",".join(self.address(n) for n in self.names)
        os.makedirs(top)
        key = os.path.join(top, "key")
        with open(key, "w") as f:
            f.write(os.urandom(16).hex() + "\n")
        os.chmod(key, 0o600)
        for i, name in enumerate(self.names):
            where = self.dir(name)
            os.mkdir(where)
            with open(os.path.join(where, "server.conf"), "w") as f:
                f.write("[server]\n" + roles_line +
                        "name = %s\ndata = \"%s\"\nlisten = %s\n"
                        "cell = %s\nrack = r%d\nkey = \"%s\"\n"
                        "log = \"%s/log\"\npid-file = \"%s/pid\"\n" % (
                            name, where, self.address(name), cell, i, key,
                            where, where))

    def start(self, name, wait=True):
        with open(os.path.join(self.dir(name), "out"), "ab") as out:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.ns(name), QUARRY, "server",
                 "--config", os.path.join(self.dir(name), "server.conf")],
                env=self.test.env, stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, start_new_session=True)
        if wait:
            self.await_answers([name])

    def await_gone(self, name, pid, seconds=SECONDS):
        self.processes[name].wait(timeout=seconds)

    def whole_status(self):
        return self.test.json("cluster", "status", "--data",
                              os.path.join(self.test.dir, self.data))


def network_missing():
    """Why there can be no namespaces here; None if there can."""
    if not shutil.which("ip"):
        return "there is no ip (iproute2)"
    probe = "quarryprobe%d" % os.getpid()
    done = subprocess.run(["ip", "netns", "add", probe], check=False,
                          stderr=subprocess.PIPE)
    if done.returncode:
        return "no network namespaces: " + done.stderr.decode().strip()
    subprocess.run(["ip", "netns", "del", probe], check=False)
    return None


class ClusterTest(CliTest):
    def setUp(self):
        super().setUp()
        # A command of a user would give up sooner.
        self.env["QUARRY_TIMEOUT"] = "%ds" % SECONDS

    def begun(self, cluster, roles):
        """It is started; one that does not come up tells of itself, too."""
        self.addCleanup(cluster.end)
        cluster.begin(roles)
        return cluster

    def loopback(self, count, roles=None):
        return self.begun(Loopback(self, count), roles)

    def network(self, count, roles=None):
        why = network_missing()
        if why:
            print("SKIPPED: %s: %s" % (self.id(), why), flush=True)
            raise unittest.SkipTest(why)
        return self.begun(Network(self, count), roles)

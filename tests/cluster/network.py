"""Clusters whose nodes are hosts of their own: each in a network namespace,
joined by quarry-links, which loses and delays what they say; on request each
with a file system of its own, which can be filled and wiped, and a clock of its
own, which can be stepped (faketime).

    c = self.network(3, disks=DISK_BYTES, clocks=True)
    c.cut("n1", "n2")                  # one way; the other way still works
    c.degrade("n1", 0.05, 20000)       # 5 % lost, 20 ms late, both ways
    c.isolate("n3"); c.heal()
    c.fill("n1"); c.free("n1")         # its disk
    c.wipe("n2")                       # of a node that does not run
    c.step_clock("n3", 3600)           # an hour ahead of the machine's clock
"""

import errno
import os
import shutil

import subprocess

from processes import QUARRY, Cluster

LINKS = os.environ.get("QUARRY_LINKS", "quarry-links")
FAKETIME = "/usr/lib/%s-linux-gnu/faketime/libfaketimeMT.so.1" % (
    os.uname().machine)
# With frames larger than Ethernet's the switch has less to do.
MTU = 15000
LOST = 1000000
# A file system for the logs, spare segments and tables of a small cluster.
DISK_BYTES = 1 << 30


def command(*words):
    subprocess.run(words, check=True, stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE)


class Links:
    """The switch; ports are known by name."""

    def __init__(self, taps):
        self.port = {name: i for i, name in enumerate(taps)}
        self.process = subprocess.Popen(
            [LINKS, *taps.values()], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.expect("ready")

    def expect(self, word):
        said = self.process.stdout.readline().strip()
        if said != word:
            raise AssertionError("quarry-links said %r" % said)

    def change(self, sender, receiver, loss=0, delay_us=0, jitter_us=0):
        """None: every port."""
        ends = ["*" if n is None else str(self.port[n])
                for n in (sender, receiver)]
        print("link", *ends, loss, delay_us, jitter_us,
              file=self.process.stdin, flush=True)
        self.expect("ok")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Network(Cluster):
    data = "net"
    serial = 0

    def __init__(self, test, count, disks=0, clocks=False, options=""):
        super().__init__(test, count)
        Network.serial += 1
        self.tag = "q%d_%d" % (os.getpid() % 10000, Network.serial)
        # Of other tests under way neither the addresses nor the key.
        self.subnet = "10.%d.%d" % (100 + os.getpid() % 100,
                                    Network.serial % 250)
        self.processes = {}
        self.links = None
        self.disk_bytes = disks
        self.clocks = clocks
        self.options = options  # More of the nodes' configuration.
        # After end(), which stops the nodes in order.
        test.addCleanup(self.remove_network)

    def begin(self, roles):
        self.make_network()
        self.make_nodes("roles = %s\n" % roles if roles else "")
        for name in self.names:
            self.start(name, wait=False)
        self.await_answers(self.names)

    # --- the network

    def ns(self, name):
        return self.tag + name

    def host(self, name):
        return "%s.%d" % (self.subnet, 10 + self.names.index(name))

    def make_network(self):
        taps = {name: self.tag + name for name in ["host", *self.names]}
        taps["host"] = self.tag + "h"
        self.links = Links(taps)
        self.make_link([], taps["host"], self.subnet + ".1")
        for name in self.names:
            ns = self.ns(name)
            command("ip", "netns", "add", ns)
            command("ip", "link", "set", taps[name], "netns", ns)
            self.make_link(["-n", ns], taps[name], self.host(name))
            command("ip", "-n", ns, "link", "set", "lo", "up")

    @staticmethod
    def make_link(where, device, address):
        command("ip", *where, "addr", "add", address + "/24", "dev", device)
        command("ip", *where, "link", "set", device, "mtu", str(MTU), "up")

    def remove_network(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        for name in self.names:
            if self.disk_bytes:
                subprocess.run(["umount", "-l", self.store(name)], check=False,
                               stderr=subprocess.DEVNULL)
            subprocess.run(["ip", "netns", "del", self.ns(name)], check=False,
                           stderr=subprocess.DEVNULL)
        if self.links:
            self.links.end()

    def cut(self, sender, receiver):
        """Lose all that @sender sends to @receiver, but not the other way."""
        self.links.change(sender, receiver, LOST)

    def isolate(self, name):
        self.links.change(name, None, LOST)
        self.links.change(None, name, LOST)

    def degrade(self, name, loss, delay_us):
        """Lose the share @loss (of 1) of all that @name sends and receives."""
        for ends in ((name, None), (None, name)):
            self.links.change(*ends, int(loss * LOST), delay_us, delay_us // 2)

    def heal(self):
        self.links.change(None, None)

    # --- disks and clocks

    def store(self, name):
        """The directory of a node's data."""
        return os.path.join(self.dir(name), "disk") if self.disk_bytes else \
            self.dir(name)

    def make_disk(self, name):
        image = os.path.join(self.test.dir, name + ".image")
        with open(image, "wb") as f:
            f.truncate(self.disk_bytes)
        command("mkfs.ext4", "-q", "-F", "-m", "0", image)
        os.mkdir(self.store(name))
        # From it `quarry cluster` learns who runs.
        os.symlink("disk/LOCK", os.path.join(self.dir(name), "LOCK"))
        command("mount", "-o", "loop", image, self.store(name))

    def fill(self, name):
        """Take all space that is left: in pieces, since the node takes some,
        too."""
        piece = 1 << 26
        size = 0
        with open(os.path.join(self.store(name), "filler"), "wb") as f:
            while piece >= 4096:
                try:
                    os.posix_fallocate(f.fileno(), size, piece)
                    size += piece
                except OSError as e:
                    if e.errno != errno.ENOSPC:
                        raise
                    piece //= 2

    def free(self, name):
        os.unlink(os.path.join(self.store(name), "filler"))

    def wipe(self, name):
        for entry in os.scandir(self.store(name)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            elif self.disk_bytes:
                os.unlink(entry.path)

    def clock_file(self, name):
        return os.path.join(self.dir(name), "clock")

    def step_clock(self, name, seconds):
        """Within a second the node's clock says so much more than the
        machine's; what measures time that passes is not touched."""
        with open(self.clock_file(name) + ".new", "w") as f:
            f.write("%+d\n" % seconds)
        os.rename(self.clock_file(name) + ".new", self.clock_file(name))

    # --- processes

    def address(self, name):
        return self.host(name) + ":7400"

    def make_nodes(self, roles_line):
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
            if self.disk_bytes:
                self.make_disk(name)
            self.step_clock(name, 0)
            with open(os.path.join(where, "server.conf"), "w") as f:
                f.write("[server]\n" + roles_line +
                        "name = %s\ndata = \"%s\"\nlisten = %s\n"
                        "cell = %s\nrack = r%d\nkey = \"%s\"\n"
                        "log = \"%s/log\"\npid-file = \"%s/pid\"\n" % (
                            name, self.store(name), self.address(name), cell,
                            i, key, where, where) + self.options)

    def environment(self, name):
        env = dict(self.test.env)
        if self.clocks:
            env.update(LD_PRELOAD=FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC="1",
                       FAKETIME_TIMESTAMP_FILE=self.clock_file(name),
                       FAKETIME_CACHE_DURATION="1", FAKETIME_NO_CACHE="0")
            env["ASAN_OPTIONS"] = ":".join(
                filter(None, (env.get("ASAN_OPTIONS"),
                              "verify_asan_link_order=0")))
        return env

    def start(self, name, wait=True):
        with open(os.path.join(self.dir(name), "out"), "ab") as out:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", self.ns(name), QUARRY, "server",
                 "--config", os.path.join(self.dir(name), "server.conf")],
                env=self.environment(name), stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, start_new_session=True)
        if wait:
            self.await_answers([name])

    def start_ended(self):
        """Act as a supervisor: nodes that ended by themselves, as one may
        whose disk is full, are started again. Returns their names."""
        ended = [n for n in self.names if self.processes[n].poll() is not None]
        for name in ended:
            self.start(name)
        return ended

    def await_gone(self, name, pid, seconds=180):
        self.processes[name].wait(timeout=seconds)

    def whole_status(self):
        return self.test.json("cluster", "status", "--data",
                              os.path.join(self.test.dir, self.data))


# --- what a machine must have


def failure_of(*words):
    """The standard error of @words; None: they succeeded."""
    try:
        done = subprocess.run(words, check=False, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    except OSError as e:
        return str(e)
    return done.stderr.decode().strip() if done.returncode else None


def missing(disks=0, clocks=False, **_):
    """Why there can be no such cluster here; None if there can."""
    probe = "quarryprobe%d" % os.getpid()
    why = failure_of("ip", "netns", "add", probe)
    if why is None:
        failure_of("ip", "netns", "del", probe)
        why = failure_of(LINKS, "qp%d" % os.getpid())
    if why is None and clocks and not os.path.exists(FAKETIME):
        why = "there is no libfaketime (package faketime)"
    if why is None and disks:
        why = missing_disks()
    return why


def missing_disks():
    image = "/tmp/%d.quarry-probe" % os.getpid()
    where = image + ".d"
    os.mkdir(where)
    with open(image, "wb") as f:
        f.truncate(1 << 24)
    why = failure_of("mkfs.ext4", "-q", "-F", image) or \
        failure_of("mount", "-o", "loop", image, where)
    failure_of("umount", where)
    os.unlink(image)
    os.rmdir(where)
    return why

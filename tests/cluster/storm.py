"""Storms over real processes: clients work (quarry-storm and the command line)
while nodes are killed, paused, stopped and cut off at random; then what all of
them saw is judged.

    QUARRY_STORM_SECONDS=600 QUARRY_STORM_SEED=7 test_histories.py QUARRY

The seed of each run is printed, and chooses the faults and what clients do; not
how the machine interleaves them.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import threading
import time

from processes import voters_of

STORM = os.environ.get("QUARRY_STORM", "quarry-storm")
CLIENT_PROCESSES = 2
# Of service, after the faults: election, sessions' grace, servers' deaths.
WITHIN_SECONDS = 120
# Until a client has ended whose last call may wait for a dead server.
END_SECONDS = 180
COPIES_SECONDS = 300


def now_us():
    """As quarry-storm reckons."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


class Watch:
    """The leaders of the lock service, and when their terms began."""

    def __init__(self, storm):
        self.changes = []  # (time_us, address)
        self.process = subprocess.Popen(
            [STORM, "watch", *storm.options()], stdout=subprocess.PIPE,
            text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            at, address, _ = line.split()
            self.changes.append((int(at), address))

    def leader_after(self, at_us, other_than, seconds=60):
        """Milliseconds until another leads; None: nobody did."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for when, address in list(self.changes):
                if when > at_us and address != other_than:
                    return (when - at_us) / 1000
            time.sleep(0.01)
        return None

    def leader(self):
        return self.changes[-1][1] if self.changes else None

    def end(self):
        self.process.terminate()
        self.thread.join()
        self.process.wait()
        self.process.stdout.close()


class CommandLine(threading.Thread):
    """One user of the command line: what a command acknowledged, the next one
    finds."""

    def __init__(self, storm, seed):
        super().__init__()
        self.storm = storm
        self.rand = random.Random(seed)
        self.over = False
        self.wrong = []
        self.done = 0
        self.may_be = {"-"}  # Contents of the lock service's file.
        self.files = {}      # Path in the file system: its contents.

    def quarry(self, *args, stdin=b""):
        """(it succeeded, output)."""
        done = self.storm.test.run_quarry(
            *args, "-t", self.storm.target, stdin=stdin)
        self.done += done.returncode == 0
        return done.returncode == 0, done.stdout

    def use_lock_service(self, i):
        text = "%d" % i
        good, _ = self.quarry("lock", "put", "/cli", text, "--timeout", "10s")
        self.may_be = {text} if good else self.may_be | {text}
        good, out = self.quarry("lock", "cat", "/cli", "--timeout", "10s")
        if not good:
            return
        if out.decode() not in self.may_be:
            self.wrong.append("/cli is %r, not %r" % (out, self.may_be))
        self.may_be = {out.decode()}

    def use_file_system(self, i):
        path = "/cli/%d" % i
        data = self.rand.randbytes(self.rand.randrange(1, 100000))
        if self.quarry("fs", "put", "-", path, stdin=data)[0]:
            self.files[path] = data
        if not self.files:
            return
        path = self.rand.choice(sorted(self.files))
        good, out = self.quarry("fs", "cat", path)
        if good and out != self.files[path]:
            self.wrong.append("%s has %d other bytes than were put" % (
                path, len(out)))

    def run(self):
        i = 0
        try:
            while not self.over:
                i += 1
                if self.rand.random() < 0.5:
                    self.use_lock_service(i)
                else:
                    self.use_file_system(i)
        except AssertionError as e:
            self.wrong.append(str(e))


class Storm:
    def __init__(self, test, cluster, seed):
        self.test = test
        self.cluster = cluster
        self.seed = seed
        self.rand = random.Random(seed)
        top = os.path.join(test.dir, cluster.data)
        self.target = "cluster:" + top
        self.key = os.path.join(top, "key")
        self.addresses = {r["node"]: r["address"] for r in cluster.status()}
        self.journals = []
        self.clients = []
        self.failovers = []
        self.faults = {}
        # A client that waits long sees little of a storm.
        test.env["QUARRY_TIMEOUT"] = "30s"

    def options(self):
        return ["--servers", ",".join(self.addresses.values()), "--key",
                self.key]

    # --- clients

    def start_client(self):
        index = len(self.journals) + 1
        journal = self.test.path("journal%d" % index)
        self.journals.append(journal)
        client = subprocess.Popen(
            [STORM, "run", *self.options(), "--journal", journal, "--index",
             str(index), "--seed", str(self.seed)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # From then on it ends in order when told.
        self.test.wait_for(lambda: os.path.exists(journal))
        return client

    def await_client(self, client, killed=False):
        _, errors = client.communicate(timeout=END_SECONDS)
        wanted = -9 if killed else 0
        self.test.assertEqual(client.returncode, wanted, "seed %d: %s" % (
            self.seed, errors))

    def replace_client(self):
        i = self.rand.randrange(len(self.clients))
        self.clients[i].kill()
        self.await_client(self.clients[i], killed=True)
        self.clients[i] = self.start_client()

    # --- faults, one at a time; each ends what it began

    def some_seconds(self, most):
        time.sleep(self.rand.uniform(0.1, most))

    def kill_leader(self):
        old = self.watch.leader()
        name = next(n for n, a in self.addresses.items() if a == old)
        at = now_us()
        self.cluster.kill(name)
        took = self.watch.leader_after(at, old)
        self.test.assertIsNotNone(took, "seed %d: no new leader" % self.seed)
        self.failovers.append(took)
        self.cluster.start(name)

    def kill(self):
        name = self.rand.choice(self.cluster.names)
        self.cluster.kill(name)
        self.some_seconds(2)
        self.cluster.start(name)

    def kill_two(self):
        names = self.rand.sample(self.cluster.names, 2)
        for name in names:
            self.cluster.kill(name)
        self.some_seconds(1)
        for name in names:
            self.cluster.start(name)

    def kill_all(self):
        for name in self.cluster.names:
            self.cluster.kill(name)
        for name in self.cluster.names:
            self.cluster.start(name, wait=False)
        self.cluster.await_answers(self.cluster.names)

    def pause(self):
        name = self.rand.choice(self.cluster.names)
        self.cluster.pause(name)
        self.some_seconds(4)
        self.cluster.resume(name)

    def kill_paused(self):
        name = self.rand.choice(self.cluster.names)
        self.cluster.pause(name)
        self.some_seconds(2)
        self.cluster.kill(name)
        self.cluster.start(name)

    def restart(self):
        name = self.rand.choice(self.cluster.names)
        self.cluster.stop(name)
        self.cluster.start(name)

    def isolate(self):
        self.cluster.isolate(self.rand.choice(self.cluster.names))
        self.some_seconds(4)
        self.cluster.heal()

    def cut(self):
        self.cluster.cut(*self.rand.sample(self.cluster.names, 2))
        self.some_seconds(4)
        self.cluster.heal()

    def mute(self):
        """One node's packets are lost; it still receives."""
        name = self.rand.choice(self.cluster.names)
        for other in self.cluster.names:
            if other != name:
                self.cluster.cut(name, other)
        self.some_seconds(4)
        self.cluster.heal()

    def scatter(self):
        """Every node alone, among nodes; clients reach all of them."""
        for a in self.cluster.names:
            for b in self.cluster.names:
                if a != b:
                    self.cluster.cut(a, b)
        self.some_seconds(2)
        self.cluster.heal()

    def degrade(self):
        """A bad cable: frames are lost and late, in both directions."""
        self.cluster.degrade(self.rand.choice(self.cluster.names),
                             self.rand.uniform(0.01, 0.2),
                             self.rand.randrange(1000, 50000))
        self.some_seconds(4)
        self.cluster.heal()

    def fill_disk(self):
        """A node whose disk is full may end; its supervisor starts it."""
        name = self.rand.choice(self.cluster.names)
        self.cluster.fill(name)
        self.some_seconds(6)
        self.cluster.free(name)
        self.cluster.start_ended()

    def wipe_disk(self):
        """A node comes back with an empty disk, as another member of the
        lock service and the namenodes. Before the next one may, all that it had
        has been copied to it."""
        self.wipe_disk_of(self.rand.choice(self.cluster.names))

    def wipe_disk_of(self, name):
        self.await_members({})
        self.await_copies()
        old = self.members()
        self.cluster.kill(name)
        self.cluster.wipe(name)
        self.cluster.start(name)
        self.await_members({s: m[self.addresses[name]]
                            for s, m in old.items()})
        self.await_copies()

    def members(self):
        """{service: {address: id}}, or {} while nobody says."""
        done = self.test.run_quarry("member", "ls", "-t", self.target,
                                    "--format", "json")
        if done.returncode:
            return {}
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return {s: voters_of(rows, s) for s in ("lock", "namenode")}

    def await_members(self, gone):
        """All nodes are members, none of them with its id in @gone."""
        def all_there():
            now = self.members()
            return now and all(
                set(ids) == set(self.addresses.values()) and
                gone.get(service) not in ids.values()
                for service, ids in now.items())
        self.test.wait_for(all_there, COPIES_SECONDS)

    def await_copies(self):
        """All chunks have all copies: one more disk may be lost."""
        def all_there():
            done = self.test.run_quarry("fs", "fsck", "-t", self.target,
                                        "--format", "json")
            return done.returncode == 0 and not done.stdout.strip()
        self.test.wait_for(all_there, COPIES_SECONDS)

    def step_clock(self):
        """By seconds, or by as much as a day, either way, and back."""
        name = self.rand.choice(self.cluster.names)
        most = self.rand.choice((5, 3600, 86400))
        self.cluster.step_clock(name, self.rand.randint(-most, most))
        self.some_seconds(6)
        self.cluster.step_clock(name, 0)

    PROCESS_FAULTS = ("kill_leader", "kill_leader", "kill", "kill_two",
                      "kill_all", "pause", "pause", "kill_paused", "restart",
                      "replace_client")
    NETWORK_FAULTS = ("isolate", "isolate", "cut", "cut", "mute", "scatter",
                      "degrade", "degrade")
    DISK_FAULTS = ("fill_disk", "wipe_disk")
    CLOCK_FAULTS = ("step_clock", "step_clock")

    # --- the whole

    def strike(self, seconds, faults):
        """Some seconds of peace, and a fault; no client may have ended."""
        self.some_seconds(seconds)
        fault = self.rand.choice(faults)
        self.faults[fault] = self.faults.get(fault, 0) + 1
        getattr(self, fault)()
        for client in self.clients:
            if client.poll() is not None:
                self.await_client(client)
                self.test.fail("a client ended by itself")

    def end_clients(self):
        for client in self.clients:
            client.terminate()
        for client in self.clients:
            self.await_client(client)

    def rage(self, seconds, faults):
        self.watch = Watch(self)
        self.clients = [self.start_client() for _ in range(CLIENT_PROCESSES)]
        user = CommandLine(self, self.seed)
        user.start()
        until = time.monotonic() + seconds
        try:
            self.test.wait_for(self.watch.leader)
            while time.monotonic() < until:
                self.strike(1, faults)
        finally:
            user.over = True
            self.end_clients()
            user.join()
            self.watch.end()
        self.test.assertEqual(user.wrong, [], "seed %d" % self.seed)
        self.user = user

    def keep(self):
        """Keep the files of a failure in the directory QUARRY_STORM_KEEP."""
        where = os.environ.get("QUARRY_STORM_KEEP")
        if where:
            shutil.copytree(self.test.dir, os.path.join(
                where, "seed%d" % self.seed), dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("*.sock", "lock", "namenode",
                                              "chunk"))

    def run_storm(self, mode, *words):
        done = subprocess.run(
            [STORM, mode, *words], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            self.keep()
        self.test.assertEqual(done.returncode, 0, "seed %d: %s" % (
            self.seed, done.stderr))
        return done.stdout.split()

    def judge(self):
        last = self.test.path("journal0")
        said = self.run_storm("finish", *self.options(), "--journal", last,
                              "--index", "0", "--within",
                              str(WITHIN_SECONDS), *self.journals)
        said += self.run_storm("check", last, *self.journals)
        for path, data in self.user.files.items():
            done = self.test.run_quarry("fs", "cat", path, "-t", self.target)
            self.test.assertEqual(done.stdout, data, path)
        self.await_copies()
        print("  faults: %s" % " ".join(
            "%s=%d" % f for f in sorted(self.faults.items())))
        print("  judged: %s commands=%d" % (" ".join(said), self.user.done))
        self.print_failovers()

    def print_failovers(self):
        if self.failovers:
            print("  leader replaced after: median %.0f ms, longest %.0f ms "
                  "of %d" % (statistics.median(self.failovers),
                             max(self.failovers), len(self.failovers)),
                  flush=True)


def run(test, cluster, network, seconds):
    seed = int(os.environ.get("QUARRY_STORM_SEED", "0")) or \
        random.SystemRandom().randrange(1, 1 << 31)
    print("%s: seed %d" % (test.id(), seed), flush=True)
    storm = Storm(test, cluster, seed)
    faults = Storm.PROCESS_FAULTS
    if network:
        faults = faults[4:] + Storm.NETWORK_FAULTS
    storm.rage(float(os.environ.get("QUARRY_STORM_SECONDS", seconds)), faults)
    storm.judge()
    return storm

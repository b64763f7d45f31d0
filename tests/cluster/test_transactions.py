"""Transactions on a cluster of real processes: the tests that are written for a
directory pass against it; and whatever is killed, servers and clients, what
clients saw is snapshot isolated, or serialisable."""

import os
import random
import subprocess
import time

from processes import QUARRY, ClusterTest, main

PROGRAMS = os.path.join(os.path.dirname(QUARRY), "tests")
LISTS = os.path.join(PROGRAMS, "quarry-txn-lists")
SUITE = ["txn", "txn_model", "txn_histories"]
CLIENTS = 4
# scripts/soak_transactions has longer storms, of its own seeds.
SECONDS = int(os.environ.get("QUARRY_STORM_SECONDS", "8"))
SEED = int(os.environ.get("QUARRY_STORM_SEED", "5"))


class TransactionsTest(ClusterTest):
    def serve(self, count):
        """A cluster whose master is ready."""
        cluster = self.loopback(count)
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in cluster.status()))
        return cluster

    def addresses(self, count):
        found = []
        for n in range(1, count + 1):
            with open(self.path("quarry-cluster/n%d/server.conf" % n)) as f:
                found += [line.split(" = ")[1].strip() for line in f
                          if line.startswith("listen = ")]
        return ",".join(found)

    def key(self):
        return self.path("quarry-cluster/key")

    def run_program(self, *command, env=None):
        done = subprocess.run(command, cwd=self.dir, env=env or self.env,
                              timeout=600, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        return done.stdout.decode()

    def test_library(self):
        """The tests of the C library."""
        self.serve(1)
        env = dict(self.env, QUARRY_TEST_TARGET=self.addresses(1),
                   QUARRY_TEST_KEY=self.key(), CK_TIMEOUT_MULTIPLIER="4")
        for name in SUITE:
            self.run_program(os.path.join(PROGRAMS, "test_client_" + name),
                             env=env)

    def start_client(self, number, serializable):
        """A process whose history is in a file of its number."""
        log = open(self.path("history.%d" % number), "w")
        self.addCleanup(log.close)
        client = subprocess.Popen(
            [LISTS, "run", self.target, self.key(), str(number),
             str(SECONDS), "serializable" if serializable else "snapshot"],
            stdout=log, cwd=self.dir, env=self.env)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.files.append(log.name)
        return client

    def strike(self, cluster, clients, rand):
        """Kill a server, which is started again, or a client, after which
        another begins."""
        if rand.random() < 0.4:
            n = "n%d" % rand.randrange(1, 4)
            cluster.kill(n)
            time.sleep(rand.random())
            cluster.start(n)
            return
        i = rand.randrange(len(clients))
        clients[i].kill()
        clients[i].wait()
        clients[i] = self.start_client(len(self.files), self.serializable)

    def storm(self, serializable):
        cluster = self.serve(3)
        rand = random.Random(SEED)
        self.target = self.addresses(3)
        self.serializable = serializable
        self.files = []
        self.run_program(LISTS, "create", self.target, self.key())
        clients = [self.start_client(i, serializable) for i in range(CLIENTS)]
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(0.3 + rand.random())
            self.strike(cluster, clients, rand)
        for client in clients:
            client.wait(120)
        print(self.run_program(
            LISTS, "check", "serializable" if serializable else "snapshot",
            *self.files), end="", flush=True)

    def test_snapshots(self):
        """Servers and clients are killed: snapshots are what they promise."""
        self.storm(False)

    def test_serializable(self):
        """The same, of serialisable transactions."""
        self.storm(True)


if __name__ == "__main__":
    main()

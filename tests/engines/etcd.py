"""Locks in a real etcd, started here.

    python3 tests/engines/etcd.py QUARRY [unittest arguments]
"""

import os
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lock_services  # noqa: E402
from lock_services import Server, free_ports  # noqa: E402


class EtcdTest(lock_services.LockServiceTest):
    scheme = "etcd"
    tls = ()

    def start_servers(self, count, scheme="http", flags=()):
        ports = free_ports(2 * count)
        peers = ",".join("m%d=http://127.0.0.1:%d" % (i, ports[count + i])
                         for i in range(count))
        servers = []
        for i in range(count):
            client = "%s://127.0.0.1:%d" % (scheme, ports[i])
            peer = "http://127.0.0.1:%d" % ports[count + i]
            s = Server(["etcd", "--name", "m%d" % i,
                        "--data-dir", os.path.join(self.dir, "m%d" % i),
                        "--listen-client-urls", client,
                        "--advertise-client-urls", client,
                        "--listen-peer-urls", peer,
                        "--initial-advertise-peer-urls", peer,
                        "--initial-cluster", peers, *flags],
                       ports[i], os.path.join(self.dir, "m%d.log" % i))
            self.addCleanup(s.end)
            s.start()
            servers.append(s)
        for s in servers:
            s.wait()
        deadline = time.monotonic() + 60
        while not all(self.status(s, scheme) for s in servers):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        return servers

    def etcdctl(self, server, *words, scheme="http", check=True):
        """The output of etcdctl with @words."""
        done = subprocess.run(
            ["etcdctl", "--endpoints", "%s://127.0.0.1:%d" % (scheme, server.port),
             "--command-timeout", "2s", *(self.tls if scheme == "https" else ()),
             *words], env=dict(os.environ, ETCDCTL_API="3"), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check:
            self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def status(self, server, scheme="http"):
        """The fields of its line, once it has a leader: endpoint, id, version, size,
        leads, …"""
        out = self.etcdctl(server, "endpoint", "status", scheme=scheme, check=False)
        fields = [f.strip() for f in out.split(",")]
        # Raft's term and index are the last numbers.
        return fields if "Failed" not in out and len(fields) > 7 and \
            fields[6].isdigit() and int(fields[6]) > 0 else None

    def find_leader(self, servers):
        for _ in range(50):
            for s in servers:
                fields = s.process.poll() is None and self.status(s)
                if fields and fields[4] == "true":
                    return s
            time.sleep(0.2)
        self.fail("none leads")

    def put(self, row):
        """Until it is acknowledged; the seconds that it took."""
        begun = time.monotonic()
        while "quarry:" in self.quarry("put", "t", row, "f:c=1", check=False):
            self.assertLess(time.monotonic() - begun, 60)
        return time.monotonic() - begun

    def await_master(self):
        deadline = time.monotonic() + 60
        while not (master := self.leads("master")):
            self.assertLess(time.monotonic(), deadline)
        return master

    def test_cluster_of_members(self):
        """A cluster writes while the members of its etcd are restarted one by one,
        the leader too, and nodes with the master and with tablets are killed."""
        servers = self.start_servers(3)
        os.environ["QUARRY_TARGET"] = "cluster:%s/quarry-cluster" % self.dir
        self.addCleanup(os.environ.pop, "QUARRY_TARGET")
        self.quarry("cluster", "start", "-n", "3", "--lock-service",
                    self.service([s.port for s in servers]))
        self.addCleanup(self.quarry, "cluster", "stop", check=False)
        self.quarry("table", "create", "t", "--family", "f")
        rows, longest = 0, 0
        leader = self.find_leader(servers)
        for s in [x for x in servers if x is not leader] + [leader]:
            s.kill()
            for _ in range(10):
                longest = max(longest, self.put("row%03d" % rows))
                rows += 1
            s.restart()
            self.find_leader(servers)
        print("members restarted: the longest write took %.1f s" % longest)
        longest = 0
        for is_master in (True, False):
            master = self.await_master()
            node = master if is_master else \
                next(n for n in ("n1", "n2", "n3") if n != master)
            self.quarry("cluster", "kill", node)
            longest = max(longest, self.put("row%03d" % rows))
            rows += 1
            self.quarry("cluster", "restart", node)
            self.put("row%03d" % rows)
            rows += 1
        print("nodes killed: the longest write took %.1f s" % longest)
        self.assertEqual(self.quarry("scan", "t", "--keys-only").count("row"), rows)
        self.assertNotIn("failure", self.quarry("doctor", check=False))

    # --- of etcd alone ------------------------------------------------------

    def test_promises_of_three(self):
        """The promises hold on three servers, whichever of them is asked."""
        servers = self.start_servers(3)
        for s in servers:
            self.suite(self.service([s.port]), "all")

    def test_leader_stopped(self):
        """Calls have an order while the leader of three is stopped for longer than
        sessions live, and continues."""
        servers = self.start_servers(3)
        service = self.service([s.port for s in servers])
        storm = self.start_suite(service, "storm", 4, 18, 4)
        time.sleep(3)
        leader = self.find_leader(servers)
        leader.stop()
        time.sleep(6)
        leader.resume()
        out = storm.stdout.read()
        self.assertIn("100%", out)
        print(out.splitlines()[0])

    def test_holder_outlives_leader(self):
        """A holder keeps its lock when the server that it asks, the leader, is
        killed, and when it is stopped."""
        servers = self.start_servers(3)
        leader = self.find_leader(servers)
        others = [s for s in servers if s is not leader]
        for harm in (leader.kill, leader.stop):
            holder = self.start_suite(
                self.service([s.port for s in [leader] + others]), "hold", "l")
            self.said(holder, "held")
            harm()
            time.sleep(6)
            holder.stdin.close()
            said = holder.stdout.read()
            self.assertNotIn("unsafe", said)
            self.assertIn("100%", said)
            if harm == leader.kill:
                leader.restart()
                leader = self.find_leader(servers)
                others = [s for s in servers if s is not leader]

    def test_minority(self):
        """A server without the others serves nobody: a holder that knows no other
        is unsafe before another has its lock."""
        servers = self.start_servers(3)
        leader = self.find_leader(servers)
        others = [s for s in servers if s is not leader]
        root = "/t%d" % random.randrange(1 << 40)
        holder = self.start_suite(self.service([leader.port], root), "hold", "l")
        self.said(holder, "held")
        for s in others:
            s.stop()
        unsafe = self.said(holder, "unsafe")
        leader.kill()
        for s in others:
            s.resume()
        taker = self.start_suite(self.service([s.port for s in others], root),
                                 "take", "l")
        self.assertLess(unsafe, self.said(taker, "taken"))

    def test_compaction(self):
        """Watches and reads outlive compaction of what they began with."""
        [s] = self.start_servers(1)
        storm = self.start_suite(self.service([s.port]), "storm", 4, 10, 5)
        done = 0
        for _ in range(5):
            time.sleep(1.6)
            fields = [w for w in self.etcdctl(
                s, "endpoint", "status", "-w", "json").split(",") if "revision" in w]
            revision = fields[0].split(":")[-1].strip("}")
            # It may be so far already, if nothing has changed since.
            done += "compacted revision" in self.etcdctl(
                s, "compact", revision, check=False)
            s.kill()  # Watches begin again from where they were.
            s.restart()
        self.assertIn("100%", storm.stdout.read())
        self.assertGreater(done, 2)

    def test_authentication(self):
        """With etcd's rights switched on, credentials are needed, and a role for
        the keys of the root is enough."""
        [s] = self.start_servers(1)
        root = "/t%d" % random.randrange(1 << 40)
        for words in (["user", "add", "root:top"],
                      ["user", "add", "quarry:secret"],
                      ["role", "add", "locks"],
                      ["role", "grant-permission", "locks", "readwrite", root,
                       root + "0"],
                      ["user", "grant-role", "quarry", "locks"],
                      ["user", "grant-role", "root", "root"],
                      ["auth", "enable"]):
            self.etcdctl(s, *words)
        auth = os.path.join(self.dir, "auth")
        with open(auth, "w") as f:
            f.write("quarry:secret\n")
        service = self.service([s.port], root)
        self.suite(service + "?auth=" + auth, "all")
        self.suite(service + "?auth=" + auth, "storm", 4, 3, 6)
        with self.assertRaisesRegex(AssertionError, "user name is empty"):
            self.suite(service, "all")
        with self.assertRaisesRegex(AssertionError, "permission denied"):
            self.suite(self.service([s.port]) + "?auth=" + auth, "all")
        with open(auth, "w") as f:
            f.write("quarry:wrong\n")
        with self.assertRaisesRegex(AssertionError, "authentication failed"):
            self.suite(service + "?auth=" + auth, "all")

    def make_certificates(self):
        """An authority, and of it a server's and a client's certificate; the
        authority of others."""
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.dir, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for ca in ("ca", "other"):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=" + ca, "-keyout", ca + ".key", "-out",
                    ca + ".pem")
        for name, use in (("server", "serverAuth,clientAuth"),
                          ("client", "clientAuth")):
            with open(os.path.join(self.dir, name + ".ext"), "w") as f:
                f.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n"
                        "extendedKeyUsage=%s\n" % use)
            openssl("req", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/CN=" + name, "-keyout", name + ".key", "-out", name + ".csr")
            openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey",
                    "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
                    name + ".ext", "-out", name + ".pem")

    def test_tls(self):
        """etcd with certificates on both sides; without them, or with those of
        others, nothing is reached."""
        self.make_certificates()
        at = {n: os.path.join(self.dir, n) for n in (
            "ca.pem", "other.pem", "server.pem", "server.key", "client.pem",
            "client.key")}
        self.tls = ("--cacert", at["ca.pem"], "--cert", at["client.pem"],
                    "--key", at["client.key"])
        [s] = self.start_servers(1, "https", [
            "--cert-file", at["server.pem"], "--key-file", at["server.key"],
            "--trusted-ca-file", at["ca.pem"], "--client-cert-auth"])
        own = "&cert=%s&key=%s" % (at["client.pem"], at["client.key"])
        service = self.service([s.port])
        self.suite(service + "?ca=" + at["ca.pem"] + own, "all")
        self.suite(service + "?ca=" + at["ca.pem"] + own, "storm", 4, 3, 7)
        with self.assertRaisesRegex(AssertionError, "certificate"):
            self.suite(service + "?ca=" + at["other.pem"] + own, "all")
        with self.assertRaisesRegex(AssertionError, "no etcd answers"):
            self.suite(service + "?ca=" + at["ca.pem"], "all")
        with self.assertRaisesRegex(AssertionError, "no etcd answers"):
            self.suite(service, "all")


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main(verbosity=2)

"""Members of a cell that are gone for good: a disk is lost, a machine is
replaced, one is sent away; what was acknowledged stays."""

import os
import re
import shutil
import subprocess

from processes import CELL, QUARRY, SECONDS, ClusterTest, free_ports, main, \
    voters_of

SERVICES = ("lock", "namenode")


class MembersTest(ClusterTest):
    def members(self, target="cluster:quarry-cluster"):
        return self.json("member", "ls", "-t", target)

    def voters(self, service, target="cluster:quarry-cluster"):
        return voters_of(self.members(target), service)

    def await_voters(self, addresses, target="cluster:quarry-cluster",
                     other_than=()):
        """Those and no others, none with an id of @other_than: for a moment
        the leader takes one that has just died for one that answers."""
        def all_there():
            voters = [self.voters(s, target) for s in SERVICES]
            return all(set(v) == set(addresses) and
                       not set(v.values()) & set(other_than) for v in voters)
        self.wait_for(all_there, SECONDS)

    def ids(self, address):
        return [self.voters(s)[address] for s in SERVICES]

    def address(self, c, name):
        with open(os.path.join(c.dir(name), "server.conf")) as f:
            return re.search("(?m)^listen = (.*)$", f.read())[1]

    def lose(self, c, name):
        """The directories of its members are gone; returned is where to."""
        kept = self.path("lost-" + name)
        os.mkdir(kept)
        for service in SERVICES:
            os.rename(os.path.join(c.dir(name), service),
                      os.path.join(kept, service))
        return kept

    def fill(self):
        self.ok("lock", "put", "/note", "kept", "-t", "cluster:quarry-cluster")
        self.write("f", "x" * 5000)
        self.ok("fs", "put", "f", "/f", "-t", "cluster:quarry-cluster")

    def check(self, target="cluster:quarry-cluster"):
        key = ["--key", "quarry-cluster/key"] if "," in target else []
        self.assertEqual(self.ok("lock", "cat", "/note", "-t", target, *key),
                         "kept")
        self.assertEqual(self.ok("fs", "cat", "/f", "-t", target, *key),
                         "x" * 5000)

    def test_disks_lost(self):
        """Each disk is lost once, one after the other: the node comes back as
        another member, in the end nobody is left of the first ones. The lost
        disk of one, found again, is refused."""
        c = self.loopback(3, CELL)
        addresses = [self.address(c, name) for name in c.names]
        self.await_voters(addresses)
        self.assertEqual(sorted(self.voters("lock").values()), [1, 2, 3])
        self.fill()
        for name, address in zip(c.names, addresses):
            before = self.ids(address)
            c.kill(name)
            kept = self.lose(c, name)
            c.start(name)
            self.await_voters(addresses, other_than=before)
            self.check()
        self.assertGreater(min(self.voters("lock").values()), 3)
        self.assertIn("is gone: another is at", "".join(map(c.log, c.names)))
        c.kill("n3")
        for service in SERVICES:
            shutil.rmtree(os.path.join(c.dir("n3"), service))
            os.rename(os.path.join(kept, service),
                      os.path.join(c.dir("n3"), service))
        c.start("n3", wait=False)
        self.wait_for(lambda: "member 3 was removed from cell" in c.log("n3"))
        self.wait_for(lambda: c.pid("n3") is None)
        self.check()

    def new_node(self, c, name, cell):
        """A node of its own machine: started, with @cell for its --cell."""
        listen = "127.0.0.1:%d" % free_ports(1)[0]
        c.names.append(name)
        os.mkdir(c.dir(name))
        process = subprocess.Popen(
            [QUARRY, "server", "--name", name, "--data", c.dir(name),
             "--listen", listen, "--cell", ",".join([*cell, listen]),
             "--roles", CELL, "--key", "quarry-cluster/key",
             "--log", os.path.join(c.dir(name), "log"),
             "--pid-file", os.path.join(c.dir(name), "pid")],
            cwd=self.dir, env=self.env, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return listen

    def test_machine_replaced(self):
        """One is gone for good: it is removed, a new machine joins under its
        own address, and then the cell can do without another of the first."""
        c = self.loopback(3, CELL)
        a, b, gone = [self.address(c, name) for name in c.names]
        self.await_voters([a, b, gone])
        self.fill()
        c.kill("n3")
        self.ok("member", "rm", gone, "-t", "%s,%s" % (a, b),
                "--key", "quarry-cluster/key")
        self.assertNotIn(gone, [r["address"] for r in self.members()])
        new = self.new_node(c, "n4", [a, b])
        self.await_voters([a, b, new])
        c.kill("n1")
        left = ["--key", "quarry-cluster/key"]
        self.assertEqual(self.ok("lock", "cat", "/note", "-t",
                                 "%s,%s" % (b, new), *left), "kept")
        self.ok("lock", "put", "/note", "again", "-t", new, *left)
        self.ok("member", "lead", new, "-t", new, *left)
        self.wait_for(lambda: all(
            r["role"] == "leader" for r in self.json(
                "member", "ls", "-t", new, *left) if r["address"] == new))
        c.start("n1")
        self.await_voters([a, b, new])
        self.assertEqual(self.ok("lock", "cat", "/note", "-t", a, *left),
                         "again")

    def test_sent_away(self):
        """A running server that is removed is told so, and ends; the last of a majority
        stays."""
        c = self.loopback(3, CELL)
        addresses = [self.address(c, name) for name in c.names]
        self.await_voters(addresses)
        self.fill()
        target = ["-t", "cluster:quarry-cluster"]
        self.assertIn("quarry member ls shows them", self.fails(
            1, "member", "rm", "127.0.0.1:1", *target))
        self.assertIn("it is lock or namenode", self.fails(
            2, "member", "ls", "--service", "cook", *target))
        c.kill("n1")
        self.assertIn("would be no majority", self.fails(
            1, "member", "rm", addresses[2], *target))
        c.start("n1")
        self.await_voters(addresses)
        self.ok("member", "rm", addresses[1], *target)
        self.wait_for(lambda: "was removed from cell" in c.log("n2"))
        self.wait_for(lambda: c.pid("n2") is None)
        self.await_voters([addresses[0], addresses[2]])
        self.check()

    def test_majority_lost(self):
        """Two of three machines are gone for good: the last one continues alone
        when it is told to, and two new ones join it."""
        c = self.loopback(3, CELL)
        addresses = [self.address(c, name) for name in c.names]
        self.await_voters(addresses)
        self.fill()
        # Entries that the last one lacks are lost: let it have everything.
        self.wait_for(lambda: all(int(r["behind"] or 0) == 0
                                  for r in self.members()))
        self.assertIn("in use by process", self.fails(
            1, "member", "rescue", c.dir("n1")))
        for name in c.names:
            c.kill(name)
        for name in ("n2", "n3"):
            for service in SERVICES:
                shutil.rmtree(os.path.join(c.dir(name), service))
        self.assertIn("there is no", self.fails(
            1, "member", "rescue", c.dir("n2")))
        self.assertIn("belongs to member 1 of cell", self.fails(
            1, "member", "rescue", c.dir("n1"), "--cluster", "another"))
        said = self.run_quarry("member", "rescue", c.dir("n1")).stderr.decode()
        self.assertEqual(said, "lock: continues without 2 others\n"
                         "namenode: continues without 2 others\n")
        self.ok("cluster", "start")
        self.await_voters(addresses)
        self.check()
        c.kill("n1")
        self.check("%s,%s" % tuple(addresses[1:]))

    def test_lists_differ(self):
        """First members that were given other lists found nothing."""
        a, b = ["127.0.0.1:%d" % p for p in free_ports(2)]
        servers = [subprocess.Popen(
            [QUARRY, "server", "--data", data, "--listen", own, "--cell", cell,
             "--roles", "lock"], cwd=self.dir, env=self.env,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for data, own, cell in (("a", a, a + "," + b),
                                    ("b", b, b + "," + a))]
        for server in servers:
            self.addCleanup(server.kill)
        _, errors = servers[0].communicate(timeout=SECONDS)
        self.assertEqual(servers[0].returncode, 1)
        self.assertIn("was given another list of the cell's first members",
                      errors)
        servers[1].terminate()
        servers[1].communicate(timeout=SECONDS)


if __name__ == "__main__":
    main()

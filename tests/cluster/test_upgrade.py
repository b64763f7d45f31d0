"""A cluster of three is rolled from one version of a cluster to the next, and
back before it is raised; after that the older one refuses by name. The program
is one, whose nodes are told to speak no more than the version before;
`scripts/test_engines upgrade` does it with the last release itself."""

import os
import re

from processes import ClusterTest, main

NODES = ("n1", "n2", "n3")


class UpgradeTest(ClusterTest):
    def conf(self, name):
        return os.path.join(self.c.dir(name), "server.conf")

    def limit(self, name, version):
        """The node speaks up to @version; None: all that its program does."""
        with open(self.conf(name)) as f:
            lines = [x for x in f if not x.startswith("cluster-version-max")]
        if version:
            lines.append("cluster-version-max = %d\n" % version)
        with open(self.conf(name), "w") as f:
            f.writelines(lines)

    def found_at(self, version):
        """A new cluster of nodes that speak no more than @version."""
        self.c = self.loopback(
            3, settings="cluster-version-max = %d\n" % version)
        self.t = ["-t", "cluster:" + os.path.join(self.dir, self.c.data)]

    def roll(self, name, version):
        self.limit(name, version)
        self.ok("cluster", "restart", name, "--data", self.c.data)
        self.write_row()

    def write_row(self):
        row = "r%02d" % len(self.rows)
        self.ok("put", "web", row, "a:x=" + row, *self.t)
        self.rows.append(row)

    def check_rows(self):
        out = self.ok("scan", "web", "--format", "csv", *self.t)
        self.assertEqual(re.findall(r"^(r\d+)", out, re.M), self.rows)

    def upgrade(self, *words):
        """(status, what it said)"""
        done = self.run_quarry("cluster", "upgrade", *words, *self.t)
        return done.returncode, done.stderr.decode()

    def version(self):
        return self.ok("lock", "cat", "/bigtable/version", *self.t).strip()

    def noted(self, name):
        try:
            with open(os.path.join(self.c.dir(name), "cluster-version")) as f:
                return f.read().strip()
        except OSError:
            return "1"

    def test_roll(self):
        self.found_at(1)
        self.rows = []
        self.ok("table", "create", "web", "--family", "a", *self.t)
        self.write_row()
        self.assertEqual(self.version(), "1")
        # One is new, and held by the others; it can be gone back from.
        self.roll("n1", None)
        status, said = self.upgrade()
        self.assertEqual(status, 1)
        self.assertIn("node n2 speaks cluster versions up to 1 (quarry 0.1)",
                      said)
        self.roll("n1", 1)
        for name in NODES:
            self.roll(name, None)
        # Nobody is raised past a node that is not asked.
        self.c.kill("n3")
        status, said = self.upgrade()
        self.assertEqual(status, 1)
        self.assertRegex(said, "node (n3|127.0.0.1:[0-9]+) does not say")
        self.assertEqual(self.version(), "1")
        self.c.start("n3")
        self.c.await_answers(NODES)
        status, said = self.upgrade("--check")
        self.assertEqual((status, self.version()), (0, "1"), said)
        self.assertIn("can be raised to 2", said)
        status, said = self.upgrade()
        self.assertEqual(status, 0, said)
        self.assertIn("the cluster is at version 2 (quarry 0.2)", said)
        self.assertIn("already", self.upgrade()[1])
        self.wait_for(lambda: all(self.noted(n) == "2" for n in NODES))
        self.write_row()
        # The version before refuses at its start, by its directory.
        self.limit("n2", 1)
        done = self.run_quarry("cluster", "restart", "n2", "--data",
                               self.c.data)
        self.assertNotEqual(done.returncode, 0)
        said = "the cluster is at version 2 (quarry 0.2), and this program " \
               "speaks 1 to 1"
        self.assertIn(said, done.stderr.decode())
        # Where the directory does not know, the others tell.
        os.remove(os.path.join(self.c.dir("n2"), "cluster-version"))
        before = self.c.log("n2").count(said)
        self.run_quarry("cluster", "restart", "n2", "--data", self.c.data)
        self.wait_for(lambda: self.c.log("n2").count(said) > before and
                      self.c.pid("n2") is None)
        self.limit("n2", None)
        self.c.start("n2")
        self.c.await_answers(NODES)
        self.write_row()
        self.check_rows()


if __name__ == "__main__":
    main()

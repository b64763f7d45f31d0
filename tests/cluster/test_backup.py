"""Backups of the tables of a cluster of real processes, and tables of a cluster
made of backups, while servers are killed."""
import os
import time

from processes import ClusterTest, main

TARGET = "cluster:quarry-cluster"


class Backups(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET
        self.place = self.path("bk")

    def serve(self, count, settings=""):
        cluster = self.loopback(count, settings=settings)
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in cluster.status()))
        return cluster

    def master(self, cluster):
        return self.wait_for(lambda: next(
            (row["node"] for row in cluster.status()
             if "master=yes" in row["detail"]), None))

    def load(self, table, rows):
        with open(self.path("rows.tsv"), "w") as f:
            for row in rows:
                f.write("%s\tf:q\t1\t%s\n" % (row, row))
        self.ok("load", table, "rows.tsv")

    def cells(self, table, *target):
        return self.ok(*target, "scan", table, "--versions", "9", "--format",
                       "json")

    def test_a_moment(self):
        """A backup and the archive of its table give it back as of a moment,
        over splits and the death of a server."""
        cluster = self.serve(3)
        self.ok("table", "create", "t", "--family", "f,versions=3",
                "--changes", "7d")
        self.ok("put", "t", "r1", "f:q=0")
        self.ok("backup", "archive", self.place)
        self.ok("backup", "create", self.place, "one")
        moments = []
        for n in range(3):
            for row in ("r1", "r3", "r5"):
                self.ok("put", "t", row, "f:q=%d" % n)
            time.sleep(0.1)
            moments.append((time.time_ns() // 1000, self.cells("t")))
            time.sleep(0.1)
            self.ok("delete", "t", "r3")
            if n == 0:
                self.ok("table", "split", "t", "r3")
            if n == 1:
                cluster.kill(self.master(cluster))
            self.ok("backup", "archive", self.place)
        for n, (us, want) in enumerate(moments):
            self.ok("backup", "restore", self.place, "--to", str(us), "-t",
                    "t=was%d" % n)
            self.assertEqual(self.cells("was%d" % n), want)

    def test_out_and_in_again(self):
        """A table of several tablets goes to a directory, comes back into the
        cluster under another name and into a store of a directory, and from
        there into the cluster, although masters and servers are killed."""
        cluster = self.serve(3)
        self.ok("table", "create", "t", "--family", "f,versions=3")
        rows = ["r%03d" % n for n in range(100)]
        self.load("t", rows)
        for row in ("r020", "r050", "r070"):
            self.ok("table", "split", "t", row)
        self.ok("put", "t", "r030", "f:q=new", "f:more=1")
        self.ok("delete", "t", "r031")
        want = self.cells("t")
        creating = self.start("backup", "create", self.place, "one",
                              "--rate", "2000", "-j", "1")
        self.wait_for(lambda: os.path.isdir(self.path("bk/runs")) and
                      os.listdir(self.path("bk/runs")))
        killed = self.master(cluster)
        cluster.kill(killed)
        self.ok("put", "t", "r040", "f:q=later")
        self.assertEqual(creating.wait(), 0)
        cluster.start(killed)
        self.ok("backup", "verify", self.place)
        self.assertEqual(self.json("snapshot", "list"), [])
        self.ok("backup", "restore", self.place, "one", "-t", "t=again")
        self.assertEqual(self.cells("again"), want)
        self.ok("put", "again", "r030", "f:q=newest")
        self.assertIn("newest", self.ok("get", "again", "r030", "f:q"))
        there = ("--target", "file:" + self.path("store"))
        self.ok(*there, "backup", "restore", self.place, "one")
        self.assertEqual(self.cells("t", *there), want)
        self.ok(*there, "put", "t", "r030", "f:q=there")
        want = self.cells("t", *there)
        self.ok(*there, "backup", "create", self.place, "two")
        self.ok("backup", "restore", self.place, "two", "-t", "t=third")
        cluster.kill(self.master(cluster))
        self.assertEqual(self.cells("third"), want)
        self.assertIn("exists already", self.fails(
            1, "backup", "restore", self.place, "two", "-t", "t=third"))

    def test_rights(self):
        """The list of rights comes back if it is wanted."""
        self.serve(1)
        self.env["USER"] = "ann"
        self.ok("table", "create", "t", "--family", "f")
        self.ok("put", "t", "row", "f:q=1")
        self.ok("acl", "grant", "t", "read", "bob")
        self.ok("backup", "create", self.place, "one")
        self.assertEqual([t["rights"] for t in self.json(
            "backup", "show", self.place, "one")], ["yes"])
        self.ok("backup", "restore", self.place, "-t", "t=with", "--rights")
        self.ok("backup", "restore", self.place, "-t", "t=without")
        self.env["USER"] = "bob"
        self.ok("get", "with", "row")
        self.env["USER"] = "eve"
        self.assertIn("may not read", self.fails(1, "get", "with", "row"))

    def test_encrypted(self):
        """A cluster that encrypts takes a backup of one that does not, and
        lends its own key for it; and gives it out encrypted."""
        self.write("key", "33" * 32)
        os.chmod(self.path("key"), 0o600)
        there = ("--target", "file:" + self.path("store"))
        self.ok(*there, "table", "create", "t", "--family", "f")
        self.ok(*there, "put", "t", "row", "f:q=SECRETSECRET")
        want = self.cells("t", *there)
        self.ok(*there, "backup", "create", self.place, "plain")
        self.serve(1, "[encryption]\nkey-file = %s\n" % self.path("key"))
        self.ok("backup", "restore", self.place, "plain")
        self.assertEqual(self.cells("t"), want)
        self.ok("table", "compact", "t")
        self.assertEqual(self.cells("t"), want)
        self.ok("backup", "create", self.place, "sealed")
        self.ok(*there, "backup", "restore", self.place, "sealed", "-t",
                "t=back", "--backup-key", self.path("key"))
        self.assertEqual(self.cells("back", *there), want)
        self.ok("backup", "restore", self.place, "sealed", "-t", "t=twice",
                "--backup-key", self.path("key"))
        self.assertEqual(self.cells("twice"), want)


if __name__ == "__main__":
    main()

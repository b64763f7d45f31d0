"""The status of a cluster as a whole: by its directory or by addresses, once
it serves, and when nobody is there."""

import concurrent.futures
import os
import time

from processes import ClusterTest, main


class StatusTest(ClusterTest):
    def test_start_waits_for_leaders(self):
        """When `cluster start` is back, each service has its leader, and a
        table can be made at once."""
        self.loopback(3)
        self.ok("cluster", "stop")
        said = self.ok("cluster", "start")
        self.assertNotIn("no master yet", said)
        leads = [r["role"] for r in self.json("cluster", "status")
                 if r["leads"] == "yes"]
        for role in ("lock", "namenode", "master", "jobs"):
            self.assertIn(role, leads)

    def test_by_address(self):
        """The address of one node shows all; figures are numbers."""
        c = self.loopback(2)
        here = self.json("cluster", "status")
        at = [r["address"] for r in here if r["node"] == "n1"][0]
        key = ["--key", "quarry-cluster/key"]
        # Commands of a directory that has the cluster by another name. (To move
        # it would end its nodes, which look at their disks each second.)
        home, self.dir = self.dir, self.path("elsewhere")
        os.mkdir(self.dir)
        os.symlink(os.path.join(home, "quarry-cluster"), self.path("moved"))
        try:
            self.assertIn("there is no cluster",
                          self.fails(1, "cluster", "status"))
            by_directory = self.json("cluster", "status", "-t",
                                     "cluster:moved")
            key = ["--key", "moved/key"]
            self.wait_for(lambda: {r["node"] for r in self.json(
                "cluster", "status", "-t", at, *key)} == {"n1", "n2", "all"})
            rows = self.json("cluster", "status", "-t", at, *key)
            for command in ("start", "stop", "kill n1", "restart n1"):
                self.assertIn("is no cluster on this machine", self.fails(
                    2, "cluster", *command.split(), "-t", at))
        finally:
            self.dir = home
        self.assertEqual({(r["node"], r["role"]) for r in rows},
                         {(r["node"], r["role"]) for r in by_directory})
        self.assertEqual({r["pid"] for r in rows if r["node"] == "n2"},
                         {c.pid("n2")})
        for row in rows:
            if row["node"] != "all":
                self.assertIsInstance(row["up_us"], int)
            self.assertIsInstance(row["facts"], dict)
        lock, = [r for r in rows if (r["node"], r["role"]) == ("n1", "lock")]
        self.assertEqual(lock["facts"]["member"], 1)
        self.assertIn(lock["facts"]["state"], ("leader", "follower"))
        for row in self.json("fs", "df", "-t", "cluster:quarry-cluster"):
            self.assertIsInstance(row["heard_ago_us"], int)

    def test_nobody_there(self):
        """A dead cluster is told within seconds, with all its addresses,
        whatever is asked; $QUARRY_TIMEOUT bounds it, too."""
        del self.env["QUARRY_TIMEOUT"]
        at = "127.0.0.1:1,localhost:2"

        def ask(command):
            """Its output, and the seconds it took."""
            begin = time.monotonic()
            said = self.fails(1, *command.split(), "-t", at)
            return said, time.monotonic() - begin

        def ask_until_soon(command):
            """4 s, on a machine that is not busy."""
            return self.wait_to_see(lambda: ask(command),
                                    lambda answer: answer[1] < 9)
        commands = ("fs ls", "lock ls", "table list", "job list", "member ls",
                    "cluster status")
        with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
            answers = list(pool.map(ask_until_soon, commands))
        for said, _ in answers:
            self.assertIn("nobody answers at 127.0.0.1:1, localhost:2", said)
            self.assertIn("refused", said)
            self.assertIn("quarry cluster start", said)
        self.env["QUARRY_TIMEOUT"] = "10ms"
        self.assertIn("nobody answers at nowhere.invalid:1",
                      self.fails(1, "table", "list", "-t",
                                 "nowhere.invalid:1"))


if __name__ == "__main__":
    main()

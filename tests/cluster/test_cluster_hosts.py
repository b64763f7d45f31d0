"""A node is added by ssh, takes tablets and chunks, and is removed after all it
had is elsewhere; ssh is a stand-in that runs the commands on this machine."""

import os

from processes import QUARRY, ClusterTest, free_ports, main


class HostsTest(ClusterTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(QUARRY, self.path("bin/quarry"))
        self.write("bin/ssh", "#!/bin/sh\necho \"$1\" >>'%s'\nshift\n"
                   "exec sh -c \"$*\"\n" % self.path("hosts"))
        os.chmod(self.path("bin/ssh"), 0o755)
        self.env["PATH"] = self.path("bin") + ":" + self.env["PATH"]

    def servers(self):
        """{address: state} of chunk servers."""
        return {r["server"]: r["state"]
                for r in self.json("fs", "df", "-t", self.t)}

    def end_added(self):
        try:
            with open(self.path("it's new/pid")) as f:
                os.kill(int(f.read()), 9)
        except OSError:
            pass

    def test_add_and_remove(self):
        c = self.loopback(3)
        self.t = "cluster:" + os.path.join(self.dir, c.data)
        port, = free_ports(1)
        host = "127.0.0.1:%d" % port
        where = self.path("it's new")
        self.addCleanup(self.end_added)
        # Shown, nothing is done.
        said = self.ok("cluster", "add", host, "--dir", where, "--print", "-t",
                       self.t)
        self.assertIn("server.conf", said)
        self.assertFalse(os.path.exists(self.path("hosts")))
        with open(os.path.join(self.dir, c.data, "key")) as f:
            self.assertNotIn(f.read().strip(), said)
        # Done.
        self.ok("cluster", "add", host, "--dir", where, "-t", self.t)
        self.wait_for(lambda: host in self.servers())
        self.ok("table", "create", "web", "--family", "a", "-t", self.t)
        for i in range(8):
            self.ok("put", "web", "r%d" % i, "a:x=%d" % i, "-t", self.t)
        self.ok("table", "split", "web", "r4", "-t", self.t)
        self.wait_for(lambda: self.run_quarry(
            "table", "move", "web", "r5", host, "-t", self.t).returncode == 0)
        # A member of the cell is not removed.
        with open(os.path.join(c.dir("n1"), "server.conf")) as f:
            cell, = [x.split(" = ")[1].split(",")[0].strip() for x in f
                     if x.startswith("cell")]
        done = self.run_quarry("cluster", "remove", cell, "-t", self.t)
        self.assertEqual(done.returncode, 1)
        self.assertIn("quarry member rm", done.stderr.decode())
        self.ok("cluster", "remove", host, "--dir", where, "-t", self.t)
        self.assertFalse(os.path.exists(os.path.join(where, "pid")))
        out = self.ok("scan", "web", "-t", self.t, "--format", "json")
        self.assertEqual(len(out.splitlines()), 8)
        with open(self.path("hosts")) as f:
            self.assertEqual(set(f.read().split()), {"127.0.0.1"})
        # One that cannot be reached says what to do.
        self.write("bin/ssh", "#!/bin/sh\nexit 255\n")
        done = self.run_quarry("cluster", "add", host, "-t", self.t)
        self.assertIn("--print shows the commands", done.stderr.decode())


if __name__ == "__main__":
    main()

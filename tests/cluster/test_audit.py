"""The audit log of a real cluster: what was changed and refused is in it, and
rotation loses nothing."""

import json
import os
import signal
import urllib.request

from processes import SECONDS, ClusterTest, main
from stranger import Stranger


class AuditTest(ClusterTest):
    def begin_cluster(self):
        """One node with an audit log."""
        return self.loopback(1, settings="audit-log = \"%s\"\n" %
                             self.path("quarry-cluster/n1/audit"))

    def events(self, c, suffix=""):
        with open(os.path.join(c.dir("n1"), "audit" + suffix)) as f:
            return [json.loads(line) for line in f]

    def find(self, c, **fields):
        """Events with these values."""
        return [e for e in self.events(c)
                if all(e.get(k) == v for k, v in fields.items())]

    def address(self, c, key):
        with open(c.dir("n1") + "/server.conf") as f:
            line, = [x for x in f if x.startswith(key + " = ")]
        return line.split(" = ")[1].strip()

    def test_events(self):
        """Changes with who and on what, refusals with why, the console."""
        c = self.begin_cluster()
        t = ["-t", "cluster:" + os.path.join(self.dir, c.data)]
        ann, eve = ["--principal", "ann"], ["--principal", "eve"]
        self.ok("table", "create", "web", "--family", "a", *t, *ann)
        self.ok("acl", "grant", "web", "read", "bob", *t, *ann)
        self.run_quarry("table", "drop", "web", *t, *eve)
        self.run_quarry("put", "web", "r", "a:x=1", *t, *eve)
        self.ok("fs", "mkdir", "/d", *t, *ann)
        self.ok("fs", "quota", "/d", "--entries", "7", *t, *ann)
        host, port = self.address(c, "listen").rsplit(":", 1)
        Stranger((host, int(port)), key=b"x" * 20).close()
        with urllib.request.urlopen("http://%s/peers" % self.address(
                c, "console"), timeout=SECONDS) as page:
            page.read()

        made = []

        def told():
            made[:] = self.find(c, what="master.create_table", on="web")
            return (made and self.find(c, what="master.set_policy", who="ann")
                    and self.find(c, what="master.drop_table", who="eve")
                    and self.find(c, what="tablet.apply", who="eve")
                    and self.find(c, what="namenode.execute", who="ann")
                    and self.find(c, what="rpc.handshake", on="proof")
                    and self.find(c, what="console.get", on="/peers"))
        self.wait_for(told)
        self.assertEqual((made[0]["who"], made[0]["allowed"], made[0]["node"]),
                         ("ann", True, "n1"))
        self.assertIn("web", made[0]["args"])
        for what in ("master.drop_table", "tablet.apply"):
            denied = self.find(c, what=what, who="eve")[0]
            self.assertFalse(denied["allowed"])
            self.assertIn("eve", denied["why"])
        refused = self.find(c, what="rpc.handshake")[0]
        self.assertFalse(refused["allowed"])
        self.assertTrue(refused["from"].startswith("127.0.0.1:"))
        self.assertEqual(
            os.stat(os.path.join(c.dir("n1"), "audit")).st_mode & 0o077, 0)

    def test_rotation(self):
        """The file is renamed, SIGHUP opens a new one."""
        c = self.begin_cluster()
        t = ["-t", "cluster:" + os.path.join(self.dir, c.data)]
        path = os.path.join(c.dir("n1"), "audit")
        self.ok("table", "create", "first", "--family", "a", *t)
        self.wait_for(lambda: self.find(c, on="first"))
        os.rename(path, path + ".1")
        os.kill(c.pid("n1"), signal.SIGHUP)
        self.wait_for(lambda: os.path.exists(path))
        self.ok("table", "create", "second", "--family", "a", *t)
        self.wait_for(lambda: self.find(c, on="second"))
        self.assertFalse(self.find(c, on="first"))
        self.assertIn("first", [e.get("on") for e in self.events(c, ".1")])


if __name__ == "__main__":
    main()

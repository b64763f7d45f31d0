"""The audit log of a real cluster: what was changed and refused is in it, and
rotation loses nothing."""

import json
import os
import re
import signal
import urllib.request

from processes import SECONDS, ClusterTest, main
from harness import ROOT
from raw_peer import RawPeer
from test_access import CertifiedTest


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
        RawPeer((host, int(port)), key=b"x" * 20).close()
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


# Calls of processes of the cluster among each other, which refuse others.
BETWEEN = {
    "chunk.fence", "master.report_split", "namenode.heartbeat", "replica.step",
    "server.log_level", "server.trace_settings",
    "tablet.capture", "tablet.compact", "tablet.drop_rows", "tablet.flush",
    "tablet.load", "tablet.log_read", "tablet.log_sort", "tablet.schema",
    "tablet.split", "tablet.status", "tablet.unload", "worker.forget",
    "worker.order", "worker.prepare", "worker.spill_index", "worker.spill_read",
    "worker.watch",
}
# Those that change nothing that others see.
QUESTIONS = {
    "job.attempts", "job.list", "job.log", "job.watch", "job.workers",
    "lock.check", "lock.entries", "lock.keep_alive", "lock.read",
    "lock.sessions", "master.flush", "master.policy", "master.snapshot_list",
    "master.snapshot_show", "master.status", "master.timestamps",
    "namenode.check",
    "namenode.grants", "namenode.layout", "namenode.list", "namenode.renew",
    "namenode.stat", "namenode.status", "server.calls", "server.config",
    "server.fibers", "server.history", "server.log_tail", "server.metrics",
    "server.peers",
    "server.spans", "server.status", "server.vars", "tablet.cuts",
    "tablet.describe", "tablet.examine", "tablet.heat", "tablet.survey",
}
# Rows, bytes of files, locks: too many for a log, which has what is refused.
CONTENTS = {
    "tablet.changes", "tablet.lend",
    "chunk.append", "chunk.open", "chunk.read", "chunk.seal", "chunk.write",
    "lock.acquire", "namenode.recover", "namenode.take_over", "tablet.apply",
    "tablet.check", "tablet.modify", "tablet.read", "tablet.read_each",
    "tablet.run",
}
# Events of their own for the changes of lock.execute.
OF_LOCKS = {"lock.create", "lock.write", "lock.delete"}


class EveryChangeTest(CertifiedTest):
    """Each call that changes rights or state has its line, done or refused."""

    more_roles = ",jobs,worker"
    more_conf = "[worker]\nslots = 2\nno-sandbox = no\n"

    @property
    def more_server(self):
        return "audit-log = \"%s\"\n" % self.path("audit")

    def setUp(self):
        super().setUp()
        self.make_table()
        self.wait_for(lambda: self.run_quarry("job", "list").returncode == 0)
        self.write("f.txt", "row\tanchor:a\t\t1\n")
        self.tried = {}

    def events(self):
        with open(self.path("audit")) as f:
            return [json.loads(line) for line in f]

    def find(self, **fields):
        """Events with these values; on and args may be a part."""
        def has(event, key, value):
            if key in ("on", "args"):
                return str(value) in str(event.get(key))
            return event.get(key) == value
        return [e for e in self.events()
                if all(has(e, k, v) for k, v in fields.items())]

    def told(self, **fields):
        self.wait_for(lambda: self.find(**fields), 30)
        return self.find(**fields)

    def both(self, who, what, on, *args, denied="stranger", denied_what=None):
        """@denied may not, @who may; the log has both."""
        if denied:
            self.become(denied)
            with self.subTest(what=what, by=denied, args=args):
                self.fails(1, *args)
                event = self.told(what=denied_what or what, who=denied,
                                  allowed=False)[-1]
                self.assertTrue(event.get("from"), event)
                self.assertTrue(event["why"], event)
        self.become(who)
        with self.subTest(what=what, by=who, args=args):
            self.ok(*args)
            self.told(what=what, who=who, on=on, allowed=True)
        self.tried.setdefault(what, 0)
        self.tried[what] += 1

    def methods(self):
        """Names of all calls, of the tables that the servers are made of."""
        names = set()
        for top in ("base/replica", "bigtable", "chubby-lite", "cli", "gfs-lite",
                    "mapreduce"):
            for where, _, files in os.walk(os.path.join(ROOT, top)):
                for name in files:
                    if name.endswith((".c", ".h")):
                        with open(os.path.join(where, name)) as f:
                            text = f.read()
                        names |= set(re.findall(
                            r'\{[^{}"]*, "([a-z]+\.[a-z_]+)",\s*[a-z_]+,'
                            r'\s*[A-Z0-9_| ]+\}', text))
                        names |= set(re.findall(
                            r'METHOD\(\w+, 0x[0-9a-f]+, "([a-z]+\.[a-z_]+)"',
                            text))
        return names

    def test_every_change(self):
        """All calls there are belong to one kind, and each that is for the log
        is tried."""
        self.become("quarry")
        self.ok("acl", "grant", "--whole-cluster", "create", "ann")
        self.ok("acl", "grant", "--whole-cluster", "own", "reader")
        self.told(what="master.set_policy", who="quarry", args="create")
        self.become("reader")
        self.until_ok("get", "web", "row")
        self.told(what="tablet.read_as_administrator", who="reader", on="web")
        self.tables()
        self.files()
        self.locks()
        self.jobs()
        self.members()
        methods = self.methods()
        self.assertIn("master.create_table", methods)
        logged = methods - BETWEEN - QUESTIONS - CONTENTS - {"lock.execute"}
        self.assertEqual(logged | OF_LOCKS, set(self.tried))
        self.assertEqual((BETWEEN | QUESTIONS | CONTENTS) - methods, set())

    def tables(self):
        table = "master.%s_table"
        self.both("ann", table % "create", "new", "table", "create", "new",
                  "--family", "a")
        self.both("ann", table % "alter", "web", "table", "alter", "web",
                  "--add-family", "more")
        self.both("ann", "master.split", "web", "table", "split", "web", "m")
        self.both("ann", "master.compact", "web", "table", "compact", "web")
        self.both("ann", "master.drop_rows", "web", "delete", "web", "--prefix",
                  "zz")
        self.both("reader", "master.move", "web", "table", "move", "web", "m",
                  self.address, denied="ann")
        policy = "master.set_policy"
        self.both("ann", policy, "web", "acl", "grant", "web", "read", "writer")
        self.both("ann", policy, "web", "acl", "revoke", "web", "read", "writer")
        self.both("reader", policy, "", "acl", "grant", "--whole-cluster",
                  "create", "writer", denied="ann")
        self.both("reader", policy, "", "acl", "role", "create", "crew",
                  "writer", denied="ann")
        self.both("reader", policy, "web", "quota", "set", "web", "reads=100000",
                  denied="ann")
        self.both("reader", policy, "", "quota", "set", "--principal", "writer",
                  "--ops", "100000", denied="ann")
        self.both("ann", "master.snapshot", "s", "table", "snapshot", "web",
                  "s")
        self.both("ann", "master.snapshot_restore", "s", "snapshot", "restore",
                  "s", "old")
        self.both("ann", "master.snapshot_drop", "s", "snapshot", "drop", "s")
        self.both("ann", "master.clone", "web", "table", "clone", "web", "twin")
        # Of the owner of a table the first call is refused that takes its files.
        place = self.path("bk")
        self.both("quarry", "master.snapshot_record", "", "backup", "create",
                  place, "one", "-t", "web", denied="ann")
        restore = ("backup", "restore", place, "one", "-t")
        self.both("quarry", "master.import_lend", "", *restore, "web=back",
                  denied="ann")
        self.both("quarry", "master.import", "", *restore, "web=again",
                  denied="ann", denied_what="master.import_lend")
        self.both("ann", "master.drop_table", "twin", "table", "drop", "twin")
        self.both("ann", "tablet.load_files", "", "load", "web", "f.txt",
                  denied_what="tablet.lend")

    def files(self):
        self.become("ann")
        self.ok("fs", "put", "f.txt", "/ann/f")
        self.ok("fs", "put", "f.txt", "/ann/d/g")
        execute = "namenode.execute"
        for on, args in (
                ("ann/f", ("fs", "chmod", "600", "/ann/f")),
                ("ann/d", ("fs", "chmod", "700", "/ann/d")),
                ("ann/f", ("acl", "grant", "--path", "/ann/f", "read",
                           "writer")),
                ("ann/f", ("fs", "mv", "/ann/f", "/ann/e")),
                ("ann/e", ("fs", "mv", "/ann/e", "/ann/f")),
                ("ann/f", ("fs", "snapshot", "/ann/f", "/ann/copy")),
                ("ann/f", ("fs", "setrep", "2", "/ann/f")),
                ("ann/copy", ("fs", "rm", "/ann/copy"))):
            self.both("ann", execute, on, *args)
        self.administrators()
        self.both("ann", execute, "ann/f", "acl", "revoke", "--path", "/ann/f",
                  "read", "writer")
        self.both("ann", execute, "ann/f", "fs", "chown", "writer", "/ann/f")
        self.both("quarry", execute, "ann", "fs", "quota", "/ann", "--entries",
                  "99")
        # Files that the cluster itself removes are not noted, except keys.
        self.ok("fs", "put", "f.txt", "/keys")
        self.ok("fs", "mv", "/keys", "/bigtable/KEYS")
        self.told(what=execute, who="quarry", args="bigtable/KEYS")
        self.ok("fs", "rm", "--skip-trash", "/bigtable/KEYS")
        server = "namenode.set_server"
        self.both("quarry", server, self.address, "fs", "leave", self.address)
        self.both("quarry", server, self.address, "fs", "leave", "--back",
                  self.address)

    def administrators(self):
        """Reads of administrators as such are noted, reads of others who may are
        not."""
        what = "namenode.read_as_administrator"
        self.become("writer")
        self.ok("fs", "cat", "/ann/f")
        self.become("reader")
        self.ok("fs", "cat", "/ann/f")
        self.ok("fs", "ls", "/ann/d")
        self.ok("fs", "ls", "/ann")
        self.told(what=what, who="reader", on="/ann/f", allowed=True)
        self.told(what=what, who="reader", on="/ann/d", allowed=True)
        self.assertEqual({(e["who"], e["on"]) for e in self.find(what=what)},
                         {("reader", "/ann/f"), ("reader", "/ann/d")})

    def locks(self):
        self.both("ann", "lock.create", "/mine", "lock", "put", "/mine", "x",
                  denied=None)
        self.told(what="lock.write", who="ann", on="/mine", allowed=True)
        self.tried["lock.write"] = 1
        self.both("ann", "lock.delete", "/mine", "lock", "rm", "/mine",
                  denied=None)
        self.become("quarry")
        lists = [r["name"] for r in self.json("lock", "ls", "/acl")]
        self.assertTrue(lists)
        self.become("stranger")
        for path in ["/bigtable/policies/x"] + ["/acl/" + n for n in lists]:
            with self.subTest(path=path):
                self.fails(1, "lock", "put", path, "x")
                self.told(what="lock.open", who="stranger", on=path,
                          allowed=False)

    def jobs(self):
        self.become("ann")
        self.ok("fs", "put", "f.txt", "/in")
        run = ("job", "run", "--detach", "--mapper", "sleep 300", "-i",
               "file:/in", "-o", "file:/out")
        self.assertIn("no-sandbox = no", self.fails(1, *run, "--no-sandbox"))
        self.told(what="job.submit", who="ann", allowed=False)
        self.both("ann", "job.submit", "", *run, denied=None)
        job = self.json("job", "list")[0]["job"]
        self.both("ann", "job.kill", "", "job", "kill", job)

    def members(self):
        said = self.become("quarry") or self.json("member", "ls")
        self.assertTrue(said)
        self.both("quarry", "replica.cell", "", "member", "lead",
                  "--service", "lock", self.address)


if __name__ == "__main__":
    main()

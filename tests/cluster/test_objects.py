"""Shared objects of users on a cluster's workers: they read and write what their
task is given, as who submitted the job, and find no other way out of their
process: no keys, no connections, no files or rows of others."""

import base64
import os
import subprocess

from processes import ClusterTest, main
from test_access import CertifiedTest

OBJECT = os.environ["QUARRY_FS_PROXY_JOB"]
MASK = 0x5a
# Open, and harmless: its own socket.
ITS_OWN = {"socket"}


def can_confine():
    return subprocess.run(["unshare", "-Ump", "--fork", "true"],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def masked(secret):
    return bytes(b ^ MASK for b in secret).hex()


class Misuse:
    """The common part of tests of both kinds of clusters."""

    def setUp(self):
        super().setUp()
        if not can_confine():
            self.skip("no namespaces for users here")

    def misuse(self, port, secret, *options):
        """{what was tried: "done" or "refused"}"""
        self.write("one.txt", "a line\n")
        self.ok("fs", "put", "--force", "one.txt", "/one.txt")
        self.ok("job", "run", OBJECT, "-i", "file:/one.txt", "-o",
                "file:/tried", "-p", "misuse=another.txt", "-p",
                "secret=" + masked(secret), "-p", "port=%s" % port, *options)
        return dict(line.split("\t") for line in
                    self.ok("fs", "cat", "/tried/part-00000").splitlines())

    def expect_refused(self, tried):
        self.assertGreater(len(tried), 30)
        done = {what for what, came in tried.items() if came == "done"}
        self.assertEqual(done, ITS_OWN)


class Certified(Misuse, CertifiedTest):
    more_roles = ",jobs,worker"
    more_conf = "[worker]\nslots = 2\n"

    def setUp(self):
        super().setUp()
        self.become("ann")
        self.wait_for(lambda: self.run_quarry("job", "list").returncode == 0)

    def test_misuse(self):
        """Nothing that an object asks for is done but what its task is given, and
        the private key of the worker's certificate is not in its memory."""
        with open(self.authority.paths("quarry")[1]) as f:
            pem = "".join(f.read().splitlines()[1:-1])
        self.write("another.txt", "of another\n")
        self.ok("fs", "put", "another.txt", "/another.txt")
        # The number itself, inside of what the file says about it.
        at = base64.b64decode(pem).index(b"\x04\x20") + 2
        number = base64.b64decode(pem)[at:at + 32]
        port = self.address.split(":")[1]
        for secret in (pem[40:100].encode(), number, number[::-1]):
            tried = self.misuse(port, secret, "--overwrite")
            self.expect_refused(tried)
        self.assertEqual(self.ok("fs", "cat", "/another.txt"), "of another\n")
        self.fails(1, "fs", "cat", "/stolen")

    def test_rows(self):
        """Rows come as to their submitter: all to the owner, a family to a principal who
        may read it, none to others; and go into a table in both ways."""
        self.make_table()
        big = "x" * 300000  # More than a message holds.
        self.write("rows.jsonl", "".join(
            '{"key": "r%03d", "a": "%d", "b": "%s"}\n' % (
                i, i, big if i % 50 == 0 else "y") for i in range(400)))
        self.ok("import", "jsonl", "rows.jsonl", "--into", "web",
                "--family", "anchor")
        self.ok("table", "create", "copied", "--family", "copy")
        self.ok("job", "run", OBJECT, "-i", "table:web", "-o", "file:/rows")
        lines = self.lines("/rows")
        self.assertEqual(len(lines), 1202)
        self.assertEqual(sum(line.endswith("\t" + big) for line in lines), 8)
        self.assertIn("r007\t7", lines)
        for way in ("", "?bulk=yes"):
            self.ok("job", "run", OBJECT, "-i", "table:web", "-o",
                    "table:copied" + way)
            self.assertIn("401   1202", self.ok("count", "copied"))
            self.assertIn(big, self.ok("get", "copied", "r050"))
            self.ok("table", "drop", "copied")
            self.ok("table", "create", "copied", "--family", "copy")
        self.ok("acl", "grant", "web", "read", "reader", "--family", "anchor")
        self.become("reader")
        self.until_ok("job", "run", OBJECT, "-i",
                      "table:web?columns=anchor:", "-o", "file:/anchors",
                      "--overwrite")
        self.assertEqual(len(self.lines("/anchors")), 1201)
        for name, spec in (("reader", "table:web"), ("stranger", "table:web"),
                           ("stranger", "table:web?live=yes")):
            self.become(name)
            self.assertIn('"%s" may not read' % name, self.fails(
                1, "job", "run", OBJECT, "-i", spec, "-o", "file:/no"))

    def lines(self, path):
        found = []
        for row in self.json("fs", "ls", path):
            if "part-" in row["path"]:
                found += self.ok("fs", "cat", row["path"]).splitlines()
        return found

    def test_files(self):
        """Small files and large ones come whole through the worker."""
        self.write("small.txt", "a\nb\n")
        self.write("large.txt", "".join(
            "%d %s\n" % (i, "z" * 50) for i in range(250000)))
        for name in ("small.txt", "large.txt"):
            self.ok("fs", "put", name, "/" + name)
            self.ok("job", "run", OBJECT, "-i", "file:/" + name, "-o",
                    "file:/copy", "--overwrite")
            with open(self.path(name)) as f:
                self.assertEqual(sorted(self.lines("/copy")),
                                 sorted(f.read().splitlines()))


class Keyed(Misuse, ClusterTest):
    def test_key(self):
        """The cluster's key is in the memory of an object run without a sandbox, which
        shows that it would be found, and of no object in one."""
        cluster = self.loopback(1)
        self.env["QUARRY_TARGET"] = "cluster:quarry-cluster"
        self.wait_for(lambda: self.run_quarry("job", "list").returncode == 0)
        with open(self.path("quarry-cluster/key"), "rb") as f:
            key = f.read().strip()
        port = cluster.status()[0]["address"].split(":")[1]
        tried = self.misuse(port, key, "--no-sandbox")
        self.assertEqual(tried["key in memory"], "done")
        self.expect_refused(self.misuse(port, key, "--overwrite"))


if __name__ == "__main__":
    main()

"""Rights to the tables of a cluster that proves names by
certificates: its own roles everything, an owner what he owns, a reader and a
writer what they were granted, others nothing; and how much a table may be
asked for and hold."""

import os
import shutil
import subprocess
import unittest

from processes import QUARRY, SECONDS, ClusterTest, free_ports, main

PEOPLE = ["ann", "reader", "writer", "stranger"]


def run(*args, cwd):
    subprocess.run(args, cwd=cwd, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class Authority:
    """Certificates: @name.crt and @name.key in the directory @where."""

    def __init__(self, where):
        self.where = where
        os.mkdir(where)
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=authority", "-keyout", "authority.key", "-out",
            "authority.crt", cwd=where)

    def sign(self, name):
        with open(os.path.join(self.where, name + ".ext"), "w") as f:
            f.write("subjectAltName=DNS:%s\n" % name)
        run("openssl", "req", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=" + name,
            "-keyout", name + ".key", "-out", name + ".csr", cwd=self.where)
        run("openssl", "x509", "-req", "-in", name + ".csr", "-CA",
            "authority.crt", "-CAkey", "authority.key", "-CAcreateserial",
            "-days", "2", "-extfile", name + ".ext", "-out", name + ".crt",
            cwd=self.where)
        os.chmod(os.path.join(self.where, name + ".key"), 0o600)

    def paths(self, name):
        return [os.path.join(self.where, f) for f in
                (name + ".crt", name + ".key", "authority.crt")]


class CertifiedTest(ClusterTest):
    """One node of all roles, whose clients have certificates."""

    more_roles = ""
    more_conf = ""
    more_server = ""  # In the section [server].
    before_server = None  # Runs in the server's process before it begins.

    def setUp(self):
        super().setUp()
        if not shutil.which("openssl"):
            print("SKIPPED: %s: there is no openssl" % self.id(), flush=True)
            raise unittest.SkipTest("there is no openssl")
        self.authority = Authority(self.path("certificates"))
        # Servers have the cluster's name.
        for name in ["quarry"] + PEOPLE:
            self.authority.sign(name)
        self.address = "127.0.0.1:%d" % free_ports(1)[0]
        self.start_server()
        self.env["QUARRY_TARGET"] = self.address

    def start_server(self):
        crt, key, authority = self.authority.paths("quarry")
        where = self.path("n1")
        os.mkdir(where)
        conf = os.path.join(where, "server.conf")
        with open(conf, "w") as f:
            f.write("[server]\nname = n1\ndata = \"%s\"\nlisten = %s\n"
                    "certificate = \"%s\"\ncertificate-key = \"%s\"\n"
                    "authority = \"%s\"\nlog = \"%s/log\"\n"
                    "roles = lock,namenode,chunk,tablet,master%s\n%s%s" % (
                        where, self.address, crt, key, authority, where,
                        self.more_roles, self.more_server, self.more_conf))
        with open(os.path.join(where, "out"), "wb") as out:
            self.server = subprocess.Popen(
                [QUARRY, "server", "--config", conf], env=self.env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=self.before_server)
        self.addCleanup(self.end_server)

    def end_server(self):
        self.server.terminate()
        try:
            self.server.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        with open(os.path.join(self.path("n1"), "out"), errors="replace") as f:
            said = f.read()
        for sign in ("Sanitizer", "runtime error", "panic at"):
            self.assertNotIn(sign, said)

    def become(self, name):
        """The next commands are those of @name."""
        crt, key, authority = self.authority.paths(name)
        self.env.update(QUARRY_CERTIFICATE=crt, QUARRY_CERTIFICATE_KEY=key,
                        QUARRY_AUTHORITY=authority)

    def make_table(self):
        """ann's table: families anchor and contents, a row in both."""
        self.become("ann")
        self.wait_for(lambda: self.run_quarry("table", "list").returncode == 0)
        self.ok("table", "create", "web", "--family", "anchor", "--family",
                "contents")
        self.ok("put", "web", "row", "anchor:a=1", "contents:b=2")

    def until_denied(self, *args):
        self.wait_for(lambda: self.run_quarry(*args).returncode == 1)
        return self.fails(1, *args)

    def until_ok(self, *args):
        self.wait_for(lambda: self.run_quarry(*args).returncode == 0)


class AccessTest(CertifiedTest):
    def test_people(self):
        """Each may do what he was given, and no more; what is refused says who,
        the right, the family and the table; a right that is taken away is gone
        at once."""
        self.make_table()
        # The maker of a table owns it, and nobody else has a right to it.
        self.assertEqual(self.json("acl", "show", "web"),
                         [{"family": "*", "right": "own",
                           "principals": "ann"}])
        self.become("stranger")
        self.assertIn('"stranger" may not read family "anchor" of table "web": '
                      "not a reader", self.fails(1, "scan", "web"))
        self.fails(1, "acl", "show", "web")
        self.become("ann")
        self.ok("acl", "grant", "web", "read", "reader", "--family", "anchor")
        self.ok("acl", "grant", "web", "write", "writer")

        self.become("reader")
        self.until_ok("scan", "web", "--family", "anchor")
        self.ok("get", "web", "row", "anchor:a")
        # The whole row has a family he may not read: it is not left out.
        self.assertIn('read family "contents"', self.fails(1, "scan", "web"))
        self.assertIn('read family "contents"',
                      self.fails(1, "get", "web", "row"))
        self.assertIn('"reader" may not write family "anchor" of table "web": '
                      "not a writer",
                      self.fails(1, "put", "web", "r2", "anchor:a=3"))
        self.assertIn("may not write", self.fails(1, "delete", "web", "row"))
        self.assertIn("may not", self.fails(1, "incr", "web", "r", "anchor:n"))

        self.become("writer")
        self.until_ok("put", "web", "r2", "anchor:a=3", "contents:b=4")
        self.assertIn('read family "anchor"', self.fails(1, "scan", "web"))

        # The server enforces a revocation as soon as it learns of it.
        self.become("ann")
        self.ok("acl", "revoke", "web", "read", "reader", "--family", "anchor")
        self.ok("acl", "revoke", "web", "write", "writer")
        self.become("reader")
        self.assertIn("not a reader",
                      self.until_denied("scan", "web", "--family", "anchor"))
        self.become("writer")
        self.assertIn("not a writer",
                      self.until_denied("put", "web", "r3", "anchor:a=5"))

    def test_orders(self):
        """Orders to the master are the owners'; making tables needs a right;
        what the cluster keeps in its lock service and its METADATA is its own;
        the cluster itself may do everything."""
        self.make_table()
        self.become("ann")
        self.ok("acl", "grant", "web", "read", "reader")
        self.become("reader")
        for order in (["table", "alter", "web", "--add-family", "x"],
                      ["table", "split", "web", "m"],
                      ["table", "compact", "web"],
                      ["acl", "grant", "web", "own", "reader"],
                      ["acl", "set", "web", "--open"],
                      ["quota", "set", "web", "reads=1"],
                      ["table", "drop", "web"]):
            said = self.fails(1, *order)
            self.assertIn('"reader"', said)
            self.assertIn("not an owner", said)
        self.fails(1, "put", "METADATA", "row", "t:event=x")
        self.fails(1, "lock", "put", "/bigtable/policies/2", "x")
        self.fails(1, "lock", "rm", "/bigtable/tables/web")
        self.become("ann")
        self.ok("table", "alter", "web", "--add-family", "x")
        self.ok("table", "split", "web", "m")
        # An owner cannot shut himself out by mistake.
        self.assertIn("nobody's",
                      self.fails(1, "acl", "revoke", "web", "own", "ann"))
        # The first list of the cluster is its own to make.
        self.fails(1, "acl", "grant", "--whole-cluster", "create", "ann")
        self.become("quarry")
        self.ok("scan", "web")
        self.ok("acl", "grant", "--whole-cluster", "create", "ann")
        self.become("stranger")
        self.assertIn("may not create tables",
                      self.fails(1, "table", "create", "t", "--family", "f"))
        self.become("ann")
        self.ok("table", "create", "t", "--family", "f")
        self.ok("table", "drop", "t")
        self.become("quarry")
        self.ok("table", "drop", "web")

    def test_lists_of_tables(self):
        """A table that is closed to somebody hides its own contents from his list,
        and no other table; what he may do next, a refusal tells him."""
        self.make_table()
        self.become("quarry")
        self.ok("acl", "grant", "--whole-cluster", "create", "ann,reader")
        self.become("reader")
        self.ok("table", "create", "mine", "--family", "f")
        rows = {r["table"]: r for r in self.json("table", "list")}
        self.assertEqual(sorted(rows), ["mine", "web"])
        self.assertEqual(rows["mine"]["families"], "f")
        self.assertIsNone(rows["web"]["tablets"])
        self.assertFalse(rows["web"]["families"])
        self.assertIn("you have no right to",
                      self.run_quarry("table", "list").stderr.decode())
        self.become("stranger")
        said = self.fails(1, "table", "create", "t", "--family", "f")
        self.assertIn("quarry acl grant --whole-cluster", said)

    def test_quotas(self):
        """A table over its quota of bytes takes nothing in until there is room,
        and says so; one over a rate makes its clients wait."""
        self.make_table()
        self.ok("quota", "set", "web", "stored=2KiB", "writes=50")
        shown = {r["quota"]: r["limit"] for r in
                 self.json("quota", "show", "web")}
        self.assertEqual(shown, {"stored": "2 KiB", "memory": "none",
                                 "reads": "none", "writes": "50/s",
                                 "bytes": "none"})
        described = self.json("table", "describe", "web")[0]
        self.assertEqual(described["quotas"]["stored"], 2048)
        self.assertEqual(described["rights"],
                         [{"family": "*", "right": "own",
                           "principals": "ann"}])
        # More than a second's worth: nothing is refused, all waits.
        rows = "".join("r%d,%d\n" % (i, i) for i in range(200))
        self.write("rows.csv", "key,anchor:n\n" + rows)
        self.ok("import", "csv", "rows.csv", "--into", "web", "--family",
                "anchor")
        self.assertEqual(self.json("count", "web")[0]["rows"], 201)
        # Bytes that do not compress, in files.
        self.write("noise", os.urandom(20000))
        self.ok("put", "web", "big", "--file", "contents:n=noise")
        self.ok("table", "compact", "web")

        def is_full():
            done = self.run_quarry("put", "web", "more", "contents:b=1")
            return b"over its quota of stored" in done.stderr
        self.wait_for(is_full)
        self.assertRegex(self.ok("table", "stats", "web"), r"stored +2 KiB")
        said = self.fails(1, "put", "web", "more", "contents:b=1")
        self.assertIn('table "web" is over its quota of stored, 2 KiB', said)
        self.assertIn('most in family "contents"', said)
        # A change that makes room is accepted, and then there is room.
        self.ok("delete", "web", "big")
        self.ok("table", "compact", "web")
        self.wait_for(lambda: self.run_quarry(
            "put", "web", "more", "contents:b=1").returncode == 0)


    def test_rates(self):
        """A principal with a rate waits for its turn, and is refused where it does
        not wait; nobody else does, and it is over when the rate is gone."""
        self.make_table()
        self.ok("acl", "grant", "web", "write", "writer,ann")
        self.become("quarry")
        self.ok("quota", "set", "--principal", "writer", "--ops", "10")
        self.ok("quota", "set", "--principal", "writer", "--bytes", "1GiB")
        self.assertEqual(self.json("quota", "show"),
                         [{"principal": "writer", "ops": "10/s",
                           "bytes": "1 GiB/s"}])
        self.assertIn("--ops N", self.fails(
            2, "quota", "set", "--principal", "writer"))
        rows = "".join("r%d,%d\n" % (i, i) for i in range(160))
        self.write("rows.csv", "key,n\n" + rows)
        load = ("import", "csv", "rows.csv", "--into", "web", "--family",
                "anchor", "--no-create")
        # A burst is owed afterwards: 16 seconds' worth.
        self.become("writer")
        self.ok(*load)
        self.env["QUARRY_TIMEOUT"] = "2s"
        self.assertIn('"writer" is over its rate of 10 ops a second',
                      self.fails(1, *load))
        self.env["QUARRY_TIMEOUT"] = "%ds" % SECONDS
        slow = self.start(*load)
        # Meanwhile another principal continues.
        self.become("ann")
        for i in range(3):
            self.ok(*load)
        self.assertIsNone(slow.poll(), "it did not wait")
        self.become("writer")
        said = self.fails(1, "quota", "remove", "--principal", "writer")
        self.assertIn('"writer" is no administrator', said)
        self.become("quarry")
        self.ok("quota", "remove", "--principal", "writer")
        self.assertEqual(self.json("quota", "show"), [])
        self.assertEqual(slow.wait(timeout=SECONDS), 0)
        self.become("writer")
        self.ok(*load)


# The official Go client: reads the row, or writes to it, and prints the code.
CLIENT = """
package main

import (
	"context"
	"fmt"
	"os"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/status"
)

func main() {
	ctx := context.Background()
	what, family := os.Args[1], os.Args[2]
	c, err := bigtable.NewClient(ctx, "p", "quarry")
	if err != nil {
		panic(err)
	}
	t := c.Open("web")
	if what == "read" {
		_, err = t.ReadRow(ctx, "row", bigtable.RowFilter(
			bigtable.FamilyFilter(family)))
	} else {
		m := bigtable.NewMutation()
		m.Set(family, "q", bigtable.Now(), []byte("v"))
		err = t.Apply(ctx, "row", m)
	}
	fmt.Println(status.Code(err), err)
}
"""


class ApiAccessTest(CertifiedTest):
    """Callers of the public API may do what its gateway's certificate may."""

    more_roles = ",gateway"

    def setUp(self):
        if not shutil.which("go") or not os.path.isdir(
                "/usr/share/gocode/src/cloud.google.com/go/bigtable"):
            print("SKIPPED: %s: there is no Go client of Bigtable" % self.id(),
                  flush=True)
            raise unittest.SkipTest("there is no Go client")
        super().setUp()

    def start_server(self):
        self.api = "127.0.0.1:%d" % free_ports(1)[0]
        self.more_conf = (
            "bigtable-api = %s\n[gateway]\ncertificate = \"%s\"\n"
            "certificate-key = \"%s\"\nauthority = \"%s\"\n" % (
                self.api, *self.authority.paths("reader")))
        super().start_server()

    def build_client(self):
        self.write("access.go", CLIENT)
        env = dict(self.env, GO111MODULE="off", GOPATH="/usr/share/gocode",
                   GOFLAGS="")
        home = os.environ.get("HOME", "")
        if os.access(home, os.W_OK):  # Built once, and kept there.
            env["HOME"] = home
        subprocess.run(["go", "build", "-o", self.path("access"),
                        self.path("access.go")], env=env, check=True)

    def said(self, what, family):
        env = dict(self.env, BIGTABLE_EMULATOR_HOST=self.api)
        done = subprocess.run([self.path("access"), what, family], env=env,
                              stdout=subprocess.PIPE, timeout=SECONDS, check=True)
        return done.stdout.decode()

    def test_rights(self):
        """The official client is refused what the gateway's principal may not,
        by the code and the words of a refusal."""
        self.build_client()
        self.make_table()
        self.assertIn('PermissionDenied', self.said("read", "anchor"))
        self.ok("acl", "grant", "web", "read", "reader", "--family", "anchor")
        self.wait_for(lambda: self.said("read", "anchor").startswith("OK"))
        said = self.said("read", "contents")
        self.assertIn("PermissionDenied", said)
        self.assertIn('"reader" may not read family "contents"', said)
        said = self.said("write", "anchor")
        self.assertIn("PermissionDenied", said)
        self.assertIn('"reader" may not write family "anchor"', said)
        self.ok("acl", "grant", "web", "write", "reader", "--family", "anchor")
        self.wait_for(lambda: self.said("write", "anchor").startswith("OK"))
        self.assertIn("PermissionDenied", self.said("write", "contents"))


if __name__ == "__main__":
    main()

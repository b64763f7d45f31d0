"""Rights through the public API: TLS, tokens and certificates say who
calls, the tablet servers check the rights of that name, and a gateway for which
nobody has to say it serves its own machine alone."""

import json
import os
import subprocess
import time

from grpc import Caller, Refused, field, tls_context
from processes import QUARRY, SECONDS, ClusterTest, free_ports, main
from test_access import CertifiedTest

DATA = "/google.bigtable.v2.Bigtable/"
TABLES = "/google.bigtable.admin.v2.BigtableTableAdmin/"
INSTANCE = b"projects/p/instances/quarry"
TABLE = INSTANCE + b"/tables/web"
OK, INVALID, DENIED, FAILED_PRECONDITION, UNAUTHENTICATED = 0, 3, 7, 9, 16


def read_request():
    return field(1, TABLE)


def write_request(family):
    cell = (field(1, family) + field(2, b"q") + field(3, 1000) +
            field(4, b"written"))
    return field(1, TABLE) + field(2, b"row2") + field(3, field(1, cell))


class ApiAccessTest(CertifiedTest):
    more_roles = ",gateway"

    def start_server(self):
        self.api = "127.0.0.1:%d" % free_ports(1)[0]
        self.tokens = self.path("tokens")
        self.token = {name: self.ok("token", "new", "--file", self.tokens,
                                    name).strip()
                      for name in ("ann", "reader", "stranger")}
        self.assertEqual(os.stat(self.tokens).st_mode & 0o777, 0o600)
        with open(self.tokens) as f:
            for token in self.token.values():
                self.assertNotIn(token, f.read())
        crt, key, authority = self.authority.paths("quarry")
        self.more_conf = (
            "bigtable-api = %s\napi-certificate = \"%s\"\n"
            "api-certificate-key = \"%s\"\napi-authority = \"%s\"\n"
            "api-tokens = \"%s\"\naudit-log = \"%s\"\n" % (
                self.api, crt, key, authority, self.tokens,
                self.path("audit")))
        super().start_server()

    def status(self, method, message, token=None, name=None, text=None):
        """Of one call, with a token, with the certificate of @name, or both."""
        crt, key, authority = self.authority.paths(name or "quarry")
        tls = tls_context(authority, crt if name else None,
                          key if name else None)
        caller = Caller(self.api, tls, token)
        try:
            status, reply = caller.call(method, message)
        finally:
            caller.close()
        if text:
            self.assertIn(text, reply)
        return status

    def await_status(self, wanted, *args, **more):
        end = time.monotonic() + SECONDS
        found = None
        while found != wanted and time.monotonic() < end:
            try:
                found = self.status(*args, **more)
            except (Refused, OSError):
                pass
            if found != wanted:
                time.sleep(0.1)
        self.assertEqual(found, wanted)

    def test_callers(self):
        """Each has the rights of its name, by family; who says nothing, or what
        is not so, is nobody."""
        self.make_table()
        self.ok("acl", "grant", "web", "read", "reader")
        self.ok("acl", "grant", "web", "write", "writer", "--family",
                "anchor")
        read = DATA + "ReadRows"
        write = DATA + "MutateRow"
        self.await_status(OK, read, read_request(), text=b"row",
                          token=self.token["reader"])
        self.assertEqual(DENIED, self.status(
            write, write_request(b"anchor"), token=self.token["reader"]))
        self.assertEqual(DENIED, self.status(
            read, read_request(), token=self.token["stranger"]))
        self.assertEqual(DENIED, self.status(
            TABLES + "DeleteTable", field(1, TABLE),
            token=self.token["reader"]))
        # The name of a certificate.
        self.assertEqual(OK, self.status(write, write_request(b"anchor"),
                                         name="writer"))
        self.assertEqual(DENIED, self.status(
            write, write_request(b"contents"), name="writer"))
        self.assertEqual(DENIED, self.status(read, read_request(),
                                             name="writer"))
        # A token counts more.
        self.assertEqual(OK, self.status(read, read_request(), name="writer",
                                         token=self.token["reader"]))
        # Probes need not say who they are.
        self.assertEqual(OK, self.status("/grpc.health.v1.Health/Check", b""))
        # Nobody.
        self.assertEqual(UNAUTHENTICATED, self.status(read, read_request()))
        self.assertEqual(UNAUTHENTICATED, self.status(
            read, read_request(), token=self.token["reader"][:-1]))
        self.assertEqual(UNAUTHENTICATED, self.status(
            read, read_request(), token="x", name="writer"))
        with self.assertRaises(Refused):
            Caller(self.api).call(read, read_request())
        # Rights that are taken away, and a token that is.
        self.ok("acl", "revoke", "web", "read", "reader")
        self.await_status(DENIED, read, read_request(),
                          token=self.token["reader"])
        self.assertEqual(OK, self.status(read, read_request(), text=b"row2",
                                         token=self.token["ann"]))
        with open(self.tokens) as f:
            kept = [line for line in f if not line.startswith("ann ")]
        with open(self.tokens, "w") as f:
            f.writelines(kept)
        self.await_status(UNAUTHENTICATED, read, read_request(),
                          token=self.token["ann"])


    def audited(self, **fields):
        with open(self.path("audit")) as f:
            events = [json.loads(line) for line in f if line.endswith("\n")]
        return [e for e in events
                if all(e.get(k) == v for k, v in fields.items())]

    def test_audit(self):
        """A refused caller is in the audit log with his address, also
        one of whom nothing else is known."""
        self.make_table()
        read = DATA + "ReadRows"
        self.await_status(OK, read, read_request(), token=self.token["ann"])
        self.assertEqual(DENIED, self.status(
            read, read_request(), token=self.token["stranger"]))
        self.assertEqual(UNAUTHENTICATED, self.status(
            read, read_request(), token="nobody's"))
        table = TABLE.decode()
        self.wait_for(lambda: self.audited(what=read, who="stranger",
                                           on=table, allowed=False))
        refused = self.wait_for(lambda: [
            e for e in self.audited(what=read, allowed=False)
            if "who" not in e])
        for event in refused:
            self.assertTrue(event["from"].startswith("127.0.0.1:"))
            self.assertIn("token", event["why"])
        self.assertFalse(self.audited(what=read, who="ann"))

    def test_protection(self):
        """A table that the API protects is not dropped by the command line, which
        says how to lift that; those may who may change what the API keeps."""
        self.make_table()
        self.ok("acl", "grant", "web", "own", "reader")
        protect = (field(1, field(1, TABLE) + field(9, 1)) +
                   field(2, field(1, b"deletion_protection")))
        self.await_status(OK, TABLES + "UpdateTable", protect,
                          token=self.token["ann"])
        for name in ("ann", "reader"):
            self.become(name)
            said = self.fails(1, "table", "drop", "web")
            self.assertIn("table web is protected from deletion", said)
            self.assertIn("quarry table unprotect web", said)
        self.assertIn('"reader" may not write',
                      self.fails(1, "table", "unprotect", "web"))
        self.assertEqual(
            FAILED_PRECONDITION,
            self.status(TABLES + "DeleteTable", field(1, TABLE),
                        token=self.token["ann"]))
        self.become("ann")
        self.ok("table", "unprotect", "web")
        self.ok("table", "unprotect", "web")
        self.ok("table", "drop", "web")


class OpenApiTest(ClusterTest):
    def serve(self, *more):
        return subprocess.run(
            [QUARRY, "server", "--data", self.path("d"), "--listen",
             "127.0.0.1:%d" % free_ports(1)[0], "--roles", "gateway", *more],
            env=self.env,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS)

    def test_open_port(self):
        """A port for everybody is not opened, with a key of the cluster or
        without."""
        key = self.path("key")
        with open(key, "w") as f:
            f.write("0123456789abcdef0123456789abcdef")
        os.chmod(key, 0o600)
        for more in ([], ["--key", key]):
            done = self.serve("--bigtable-api", "0.0.0.0:0", *more)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("without tokens or clients' certificates only on "
                          "this machine's own addresses", done.stderr)

    def test_settings(self):
        """Settings that do not go together are named."""
        for more, why in (
                (["--api-certificate", "x"], "belong together"),
                (["--api-authority", "x"], "needs api-certificate")):
            done = self.serve("--bigtable-api", "127.0.0.1:0", *more)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    main()

"""Roles: named sets of principals, to whom tables and files give rights; and
what administrators may read, and that it is noted."""

import json

from processes import main
from test_access import CertifiedTest


class RolesTest(CertifiedTest):
    def start_server(self):
        self.audit = self.path("audit")
        self.more_server = "audit-log = \"%s\"\n" % self.audit
        super().start_server()

    def test_tables_and_files(self):
        """Members may what their role may, from within a second, and no longer
        than they are members; of tables and of files alike."""
        self.make_table()
        self.write("a.txt", "of ann\n")
        self.ok("fs", "put", "a.txt", "/ann/f")
        self.ok("fs", "chmod", "-R", "o-rwx", "/ann")
        self.ok("acl", "grant", "web", "read", "role:press")
        self.ok("acl", "grant", "--path", "/ann", "read", "role:press")
        # Roles are the administrators' to make.
        self.assertIn("no administrator", self.fails(
            1, "acl", "role", "create", "press", "ann"))
        self.become("quarry")
        self.ok("acl", "role", "create", "press", "reader,writer")
        self.fails(1, "acl", "role", "create", "press", "ann")
        self.fails(1, "acl", "role", "add", "none", "ann")
        self.fails(1, "acl", "role", "add", "press", "role:other")
        self.assertEqual(self.json("acl", "role", "list"),
                         [{"role": "press", "members": "reader,writer"}])
        self.become("reader")
        self.until_ok("get", "web", "row")
        self.until_ok("fs", "cat", "/ann/f")
        self.assertIn("may not write", self.fails(1, "put", "web", "r",
                                                  "anchor:a=1"))
        self.become("stranger")
        self.fails(1, "get", "web", "row")
        self.fails(1, "fs", "cat", "/ann/f")
        self.become("quarry")
        self.ok("acl", "role", "remove", "press", "reader")
        self.ok("acl", "role", "add", "press", "stranger")
        self.become("reader")
        self.until_denied("get", "web", "row")
        self.until_denied("fs", "cat", "/ann/f")
        self.become("stranger")
        self.until_ok("get", "web", "row")
        self.until_ok("fs", "cat", "/ann/f")
        self.become("quarry")
        self.ok("acl", "role", "drop", "press")
        self.assertEqual(self.json("acl", "role", "list"), [])
        self.become("stranger")
        self.until_denied("get", "web", "row")
        self.until_denied("fs", "cat", "/ann/f")

    def test_administrators(self):
        """Those whom the list of the cluster names, themselves or by a role, read
        closed tables and files, which the audit log says, and write no rows."""
        self.make_table()
        self.write("a.txt", "of ann\n")
        self.ok("fs", "put", "a.txt", "/ann/f")
        self.ok("fs", "chmod", "-R", "o-rwx", "/ann")
        self.become("reader")
        self.fails(1, "get", "web", "row")
        self.become("quarry")
        self.ok("acl", "role", "create", "operators", "reader")
        self.ok("acl", "grant", "--whole-cluster", "own", "role:operators")
        self.become("reader")
        self.until_ok("get", "web", "row")
        self.until_ok("fs", "cat", "/ann/f")
        self.assertIn("may not write",
                      self.fails(1, "put", "web", "row", "anchor:a=2"))
        self.ok("fs", "chmod", "755", "/ann")
        self.become("quarry")
        self.ok("acl", "role", "remove", "operators", "reader")
        self.become("reader")
        self.until_denied("get", "web", "row")
        self.until_denied("fs", "cat", "/ann/f")
        with open(self.audit) as f:
            events = [json.loads(line) for line in f]
        read = [e for e in events
                if e["what"] == "tablet.read_as_administrator"]
        self.assertEqual({(e["who"], e["on"]) for e in read},
                         {("reader", "web")})


if __name__ == "__main__":
    main()

"""Files of a cluster that proves names by certificates have owners, modes and
rights by path, and nobody gets around them."""

from processes import main
from test_access import CertifiedTest


class FileRightsTest(CertifiedTest):
    def setUp(self):
        super().setUp()
        self.become("ann")
        self.wait_for(lambda: self.run_quarry("table", "list").returncode == 0)
        self.write("a.txt", "of ann\n")
        self.write("b.txt", "of another\n")

    def denied(self, *args):
        said = self.fails(1, *args)
        self.assertIn("may not", said)
        return said

    def listed(self, *args):
        return {r["path"]: r for r in self.json("fs", "ls", "-l", *args)}

    def test_owners_and_modes(self):
        """A file belongs to its maker, and others read it until he closes it."""
        self.ok("fs", "put", "a.txt", "/ann/f")
        row = self.listed("/ann")["/ann/f"]
        self.assertEqual((row["mode"], row["owner"]), ("-rw-r--", "ann"))
        self.assertEqual(self.listed("/")["/ann"]["mode"], "drwxr-x")
        facts = {r["name"]: r["value"] for r in self.json("fs", "stat", "/ann/f")}
        self.assertEqual((facts["owner"], facts["mode"]), ("ann", "-rw-r--"))

        self.become("reader")
        self.assertEqual(self.ok("fs", "cat", "/ann/f"), "of ann\n")
        said = self.denied("fs", "put", "-f", "b.txt", "/ann/f")
        self.assertIn('"reader" may not make or remove names in /ann: it is '
                      "ann's, rwxr-x", said)
        for order in (("rm", "/ann/f"), ("rm", "--skip-trash", "/ann/f"),
                      ("mv", "/ann/f", "/ann/g"), ("mv", "/ann", "/mine"),
                      ("rm", "-r", "/ann"), ("put", "b.txt", "/ann/g"),
                      ("mkdir", "/ann/d"), ("put", "-a", "b.txt", "/ann/f"),
                      ("chmod", "777", "/ann/f"), ("chown", "reader", "/ann"),
                      ("setrep", "2", "/ann"), ("quota", "--bytes", "1GiB",
                                                "/ann")):
            with self.subTest(order=order):
                self.denied("fs", *order)

        self.become("ann")
        self.ok("fs", "chmod", "600", "/ann/f")
        self.become("reader")
        for order in (("cat", "/ann/f"), ("snapshot", "/ann/f", "/copy"),
                      ("tail", "/ann/f"), ("get", "/ann/f", "x")):
            with self.subTest(order=order):
                self.assertIn("may not read /ann/f", self.denied("fs", *order))
        self.ok("fs", "stat", "/ann/f")  # Its state is the directory's to show.
        self.become("ann")
        self.ok("fs", "chmod", "-R", "o-rwx", "/ann")
        self.become("reader")
        for order in (("ls", "/ann"), ("ls", "-l", "/ann"), ("stat", "/ann/f"),
                      ("stat", "/ann/nothing"), ("cat", "/ann/f"),
                      ("du", "/ann"), ("snapshot", "/ann", "/copy")):
            with self.subTest(order=order):
                self.denied("fs", *order)
        # The cluster itself, and whom its list names, may do everything.
        self.become("quarry")
        self.assertEqual(self.ok("fs", "cat", "/ann/f"), "of ann\n")

    def test_copies_keep_owners(self):
        """A snapshot of others' files is closed to those to whom they are."""
        self.ok("fs", "put", "a.txt", "/d/open")
        self.ok("fs", "put", "a.txt", "/d/closed")
        self.ok("fs", "chmod", "600", "/d/closed")
        self.become("reader")
        self.ok("fs", "snapshot", "/d", "/copy")
        self.assertEqual(self.ok("fs", "cat", "/copy/open"), "of ann\n")
        self.denied("fs", "cat", "/copy/closed")
        self.assertEqual(self.listed("/copy")["/copy/closed"]["owner"], "ann")
        self.denied("fs", "rm", "-r", "--skip-trash", "/d")
        # The copy of a directory that is another's is not his, either.
        self.denied("fs", "rm", "/copy/open")

    def test_trash(self):
        """Of what somebody removed nobody else gets anything back."""
        self.ok("fs", "put", "a.txt", "/ann/f")
        self.ok("fs", "chmod", "700", "/ann")
        self.ok("fs", "rm", "-r", "/ann")
        trash = [r["path"] for r in self.json("fs", "ls", "/.trash")]
        self.assertEqual(len(trash), 1)
        self.become("reader")
        for order in (("ls", "-R", trash[0]),
                      ("cat", trash[0] + "/ann/f"),
                      ("mv", trash[0] + "/ann", "/mine"),
                      ("rm", "-r", "--skip-trash", trash[0]),
                      ("rm", "-r", "--skip-trash", "/.trash")):
            with self.subTest(order=order):
                self.denied("fs", *order)
        self.become("ann")
        self.ok("fs", "mv", trash[0] + "/ann", "/ann")
        self.assertEqual(self.ok("fs", "cat", "/ann/f"), "of ann\n")

    def test_grants(self):
        """Rights by path come on top of modes, for a file or all below a
        directory, and are gone as soon as they are taken away."""
        self.ok("fs", "put", "a.txt", "/ann/d/f")
        self.ok("fs", "chmod", "-R", "o-rwx", "/ann")
        self.ok("acl", "grant", "--path", "/ann/d", "read", "reader,writer")
        self.ok("acl", "grant", "--path", "/ann/d", "write", "writer")
        shown = [(r["path"], r["right"], r["principal"]) for r in
                 self.json("acl", "show", "--path", "/ann/d/f")]
        self.assertEqual(shown, [("/ann/d", "read", "reader"),
                                 ("/ann/d", "read,write", "writer")])
        self.become("reader")
        self.assertEqual(self.ok("fs", "cat", "/ann/d/f"), "of ann\n")
        self.assertEqual(list(self.listed("/ann/d")), ["/ann/d/f"])
        self.denied("fs", "put", "b.txt", "/ann/d/g")
        self.denied("fs", "ls", "/ann")
        self.denied("acl", "grant", "--path", "/ann/d", "write", "reader")
        self.become("writer")
        self.ok("fs", "put", "b.txt", "/ann/d/g")
        self.ok("fs", "put", "-a", "b.txt", "/ann/d/f")
        self.become("stranger")
        self.denied("fs", "cat", "/ann/d/f")
        self.become("ann")
        self.ok("acl", "revoke", "--path", "/ann/d", "read", "reader")
        self.become("reader")
        self.denied("fs", "cat", "/ann/d/f")
        self.become("ann")
        self.fails(2, "acl", "grant", "--path", "/ann", "own", "reader")
        for mode in ("750", "g+w"):
            self.assertIn("no groups", self.fails(1, "fs", "chmod", mode, "/ann"))
        self.fails(1, "fs", "chmod", "77x", "/ann")

    def test_sticky(self):
        """In a directory that all may write and that is sticky each removes
        his own; without that bit, everybody everything."""
        self.ok("fs", "mkdir", "/tmp")
        self.ok("fs", "chmod", "1777", "/tmp")
        self.assertEqual(self.listed("/")["/tmp"]["mode"], "drwxrwxt")
        self.ok("fs", "put", "a.txt", "/tmp/ann")
        self.become("writer")
        self.ok("fs", "put", "b.txt", "/tmp/mine")
        self.denied("fs", "rm", "/tmp/ann")
        self.denied("fs", "mv", "/tmp/ann", "/tmp/x")
        self.denied("fs", "mv", "/tmp/mine", "/tmp/ann")
        self.ok("fs", "rm", "/tmp/mine")
        self.become("ann")
        self.ok("fs", "chmod", "a-t", "/tmp")
        self.become("writer")
        self.ok("fs", "rm", "/tmp/ann")

    def test_owners_change(self):
        """Files are given away by those who own them, with what they granted
        gone."""
        self.ok("fs", "put", "a.txt", "/d/f")
        self.ok("acl", "grant", "--path", "/d", "read", "stranger")
        self.ok("fs", "chown", "-R", "writer", "/d")
        self.assertEqual(self.json("acl", "show", "--path", "/d"), [])
        self.assertEqual(self.listed("/d")["/d/f"]["owner"], "writer")
        self.denied("fs", "chmod", "700", "/d")
        self.become("quarry")
        self.ok("fs", "chown", "-R", "ann", "/d")
        self.become("ann")
        self.ok("fs", "chmod", "700", "/d")


if __name__ == "__main__":
    main()

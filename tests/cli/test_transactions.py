"""Transactions on the command line: quarry txn and the shell."""

from harness import CliTest, main


class TransactionsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.ok("table", "create", "a", "--family", "f,versions=1",
                "--transactions")

    def test_script(self):
        """A script is made whole, or not at all."""
        self.write("good", "put a x f:q=1\nput a y f:q=second # comment\n")
        self.ok("txn", "good")
        self.assertIn("second", self.ok("get", "a", "y"))
        self.write("bad", "put a x f:q=other\nput a y no:q=other\n")
        self.assertIn("line 2", self.fails(1, "txn", "bad"))
        self.write("back", "put a x f:q=other\nget a x f:q\nrollback\n")
        self.assertIn("other", self.ok("txn", "back"))
        self.write("ends", "scan a\ndelete a y\nscan a x\ncommit\nfrob\n")
        self.assertEqual(self.ok("txn", "ends").count("x\n"), 2)
        self.assertNotIn("other", self.ok("scan", "a"))
        self.assertNotIn("y", self.ok("scan", "a", "--keys-only"))
        self.write("wrong", "frob\n")
        self.assertIn("rollback", self.fails(2, "txn", "wrong"))

    def test_shell(self):
        """begin, commit and rollback; other commands meanwhile."""
        out = self.ok("shell", stdin="begin\nput a x f:q=new\nscan a\n"
                      "table list\ncommit\nget a x\n")
        self.assertEqual(out.count("new"), 2)
        out = self.ok("shell", stdin="begin --serializable\ndelete a x\n"
                      "rollback\nget a x\n")
        self.assertIn("new", out)
        self.assertIn("begin", self.fails(2, "shell", stdin="commit\n"))

    def test_table(self):
        """A table takes part at once or later, and says so."""
        self.assertIn("transactions", self.ok("table", "describe", "a"))
        self.ok("table", "create", "b", "--family", "f")
        self.write("b", "put b x f:q=1\n")
        self.assertIn("--transactions", self.fails(1, "txn", "b"))
        self.ok("table", "alter", "b", "--transactions")
        self.ok("txn", "b")
        self.assertIn('"transactions": true',
                      self.ok("table", "describe", "b", "--format", "json"))
        self.fails(1, "table", "alter", "b", "--add-family", ".txn.x")


if __name__ == "__main__":
    main()

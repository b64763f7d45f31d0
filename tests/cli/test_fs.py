"""`quarry fs` over a directory: patterns, several paths at once, whole trees."""

import os

from harness import CliTest, main


class FsTest(CliTest):
    def setUp(self):
        super().setUp()
        self.table()
        for name in ("a1", "a2", "b1", "odd *name", ".hidden"):
            self.write(name, name + "\n")
            self.ok("fs", "put", name, "/logs/x/")
        self.ok("fs", "put", "a1", "/logs/y/z/a1")

    def paths(self, *args):
        return [row["path"] for row in self.json("fs", "ls", *args)]

    def local(self, top):
        """Contents of the files in a directory of this machine, by name below
        it."""
        found = {}
        for where, _, files in os.walk(self.path(top)):
            for name in files:
                full = os.path.join(where, name)
                with open(full) as f:
                    found[os.path.relpath(full, self.path(top))] = f.read()
        return found

    def test_patterns(self):
        """Parts are matched one by one; a dot in front by a dot alone; a file
        of just this name is meant before a pattern."""
        self.assertEqual(self.paths("/logs/x/a*"),
                         ["/logs/x/a1", "/logs/x/a2"])
        self.assertEqual(self.paths("/logs/*/[ab]1"),
                         ["/logs/x/a1", "/logs/x/b1"])
        self.assertEqual(self.paths("/l*/y/?/a?"), ["/logs/y/z/a1"])
        self.assertEqual(self.paths("/logs/x/.h*"), ["/logs/x/.hidden"])
        self.assertEqual(self.paths("/logs/x/odd *name"), ["/logs/x/odd *name"])
        self.assertEqual(self.paths("/logs/x/odd \\*n*"), ["/logs/x/odd *name"])
        self.assertEqual(len(self.paths("/logs/x/*")), 4)
        self.assertEqual(self.paths("/logs/y", "/logs/x/b1"),
                         ["/logs/y/z", "/logs/x/b1"])
        self.assertEqual(self.ok("fs", "cat", "/logs/x/a?"), "a1\na2\n")
        self.assertIn("/logs/q*: no file matches",
                      self.fails(1, "fs", "ls", "/logs/q*"))
        self.ok("fs", "rm", "/logs/x/a?", "/logs/x/b1")
        self.assertEqual(self.paths("/logs/x"),
                         ["/logs/x/.hidden", "/logs/x/odd *name"])

    def test_several_into(self):
        """Several go into a directory that is there, and nowhere else."""
        self.ok("fs", "mkdir", "/to")
        self.ok("fs", "mv", "/logs/x/a1", "/logs/x/a2", "/to")
        self.assertEqual(self.paths("/to"), ["/to/a1", "/to/a2"])
        self.ok("fs", "mv", "/to/a*", "/logs/y/")
        self.assertEqual(self.paths("/logs/y"),
                         ["/logs/y/a1", "/logs/y/a2", "/logs/y/z"])
        said = self.fails(1, "fs", "mv", "/logs/y/a*", "/nowhere")
        self.assertIn("/nowhere: no such directory, and 2 files", said)
        self.assertIn("is not a directory, and 2 files", self.fails(
            1, "fs", "cp", "/logs/y/a*", "/logs/x/b1"))
        os.mkdir(self.path("here"))
        self.ok("fs", "get", "/logs/y/a*", "here")
        self.assertEqual(self.local("here"), {"a1": "a1\n", "a2": "a2\n"})
        self.assertIn("no such directory",
                      self.fails(1, "fs", "get", "/logs/y/a*", "nowhere"))
        self.assertEqual(self.ok("fs", "get", "/logs/y/a*", "-"), "a1\na2\n")

    def test_trees(self):
        """-R takes directories with all below: out, in, and across."""
        for words in (("get", "/logs", "out"), ("cp", "/logs", "/copy"),
                      ("put", "out", "/in")):
            if words[0] == "put":
                os.mkdir(self.path("out"))
            self.assertIn("is a directory (-R", self.fails(1, "fs", *words))
        os.rmdir(self.path("out"))
        self.ok("fs", "get", "-R", "/logs", "out")
        want = {"x/" + n: n + "\n"
                for n in ("a1", "a2", "b1", "odd *name", ".hidden")}
        want["y/z/a1"] = "a1\n"
        self.assertEqual(self.local("out"), want)
        self.assertIn("--force", self.fails(1, "fs", "get", "-R", "/logs/x",
                                            "out"))
        self.ok("fs", "get", "-Rf", "/logs/x", "out")
        os.mkdir(self.path("out/empty"))
        self.ok("fs", "put", "-R", "out", "/in")
        self.ok("fs", "mkdir", "/two")
        self.ok("fs", "put", "-R", "out/", "/two")
        self.ok("fs", "put", "-R", "out/y/.", "/two")
        self.assertEqual(self.paths("/two"), ["/two/out", "/two/z"])
        self.ok("fs", "cp", "-R", "/in", "/copy")
        below = [p[len("/in"):] for p in self.paths("-R", "/in")]
        self.assertIn("/empty", below)
        self.assertEqual([p[len("/copy"):] for p in self.paths("-R", "/copy")],
                         below)
        self.assertEqual(self.ok("fs", "cat", "/copy/x/a1"), "a1\n")
        for into in ("/copy/y", "/copy"):
            self.assertIn("cannot be copied to",
                          self.fails(1, "fs", "cp", "-R", "/copy", into))
        self.ok("fs", "rm", "-R", "/copy", "/in")
        self.ok("fs", "rm", "-r", "/logs/x")
        self.assertEqual(self.paths("-R", "/logs"),
                         ["/logs/y", "/logs/y/z", "/logs/y/z/a1"])


if __name__ == "__main__":
    main()

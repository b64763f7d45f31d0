"""A cluster that is encrypted: what users stored is in no file of any node, not
in logs of cells either, while it works and after crashes; without its master
key a node does not start."""

import os
import re
import time

from processes import ClusterTest, main

TARGET = "cluster:quarry-cluster"
MARKER = b"plainly"
# Words that a row's value has: what is compressed shows fewer.
VALUE = "plainlyvalue"


class Encryption(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def new_key(self, name):
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(os.urandom(32).hex().encode() + b"\n")
        os.chmod(path, 0o600)
        return path

    def configure(self, c, lines):
        """Each node's section [encryption] is @lines."""
        for name in c.names:
            path = os.path.join(c.dir(name), "server.conf")
            with open(path) as f:
                text = re.sub(r"(?s)\[encryption\].*", "", f.read())
            with open(path, "w") as f:
                f.write(text + "[encryption]\n" + lines)

    def serve(self, count, encrypted=True):
        """A cluster that was encrypted from its beginning, with tables."""
        self.key = self.new_key("master")
        c = self.loopback(count, settings="[encryption]\nkey-file = %s\n" %
                          self.key if encrypted else "")
        self.await_master(c)
        return c

    def await_master(self, c):
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in c.status()))

    def files_with_marker(self, c, marker=MARKER):
        """Of all nodes; their own logs, which are text for people, apart."""
        found = []
        for name in c.names:
            for top, _, names in os.walk(c.dir(name)):
                for file in names:
                    path = os.path.join(top, file)
                    if file in ("log", "out") or not os.path.isfile(path):
                        continue
                    try:
                        with open(path, "rb") as f:
                            if marker in f.read():
                                found.append(path)
                    except FileNotFoundError:
                        pass  # Merged away meanwhile.
        return found

    def put_rows(self, first, last):
        lines = "".join("plainlyrow%d,%s%d\n" % (i, VALUE, i)
                        for i in range(first, last))
        self.write("rows.csv", "k,plainlyq\n" + lines)
        self.ok("import", "csv", "rows.csv", "--into", "plainlytable",
                "--family", "plainlyfamily")

    def count(self):
        return int(self.ok("count", "plainlytable", "--format",
                           "csv").split()[-1].split(",")[-1])

    def test_no_file_says_anything(self):
        c = self.serve(3)
        self.put_rows(0, 300)
        self.assertEqual(self.count(), 300)
        self.assertEqual(self.files_with_marker(c), [])
        self.ok("table", "compact", "plainlytable")
        self.ok("table", "snapshot", "plainlytable", "s1")
        self.put_rows(300, 600)
        for name in c.names:
            c.kill(name)
        self.assertEqual(self.files_with_marker(c), [])
        self.ok("cluster", "start")
        self.await_master(c)
        self.assertEqual(self.count(), 600)
        self.assertEqual(self.ok("snapshot", "list").count("plainlytable"), 1)
        self.assertEqual(self.files_with_marker(c), [])

    def spills(self, c):
        return [n for name in c.names for _, _, names in os.walk(c.dir(name))
                for n in names if n.endswith((".spill", ".fetch", ".pull"))]

    def test_spills(self):
        """What a job has in work is not to be read either. (What it was told,
        the table's name, is in its history.)"""
        c = self.serve(1)
        self.put_rows(0, 50)
        process = self.start(
            "job", "run", "--mapper", "cat", "--reducer",
            "sh -c 'wc -l; sleep 5'", "--reducers", "1", "--input",
            "table:plainlytable", "--output", "file:/out")
        seen = 0
        while process.poll() is None:
            seen += len(self.spills(c))
            self.assertEqual(self.files_with_marker(c, b"plainlyvalue"), [])
            time.sleep(0.2)
        self.assertEqual(process.returncode, 0)
        self.assertGreater(seen, 0)

    def test_the_search_finds_what_is_not_encrypted(self):
        c = self.serve(1, encrypted=False)
        self.put_rows(0, 10)
        self.assertNotEqual(self.files_with_marker(c), [])

    def test_keys(self):
        """A node without the key does not start; with a new one and the one
        before it does."""
        c = self.serve(1)
        self.put_rows(0, 10)
        c.stop("n1")
        self.configure(c, "")
        self.assertIn("no master key was given",
                      self.fails(1, "cluster", "start"))
        new = self.new_key("new")
        self.configure(c, "key-file = %s\nprevious-key-file = %s\n" %
                       (new, self.key))
        self.ok("cluster", "start")
        self.await_master(c)
        self.assertEqual(self.count(), 10)
        c.stop("n1")
        self.configure(c, "key-file = %s\n" % new)  # KEYS was sealed with it.
        self.ok("cluster", "start")
        self.await_master(c)
        self.assertEqual(self.count(), 10)

    def test_rotation_while_rows_are_written(self):
        """New files have the new key; old ones stay readable."""
        c = self.serve(1)
        self.env["QUARRY_ENCRYPTION_KEY"] = self.key
        for i in range(3):
            self.put_rows(i * 100, i * 100 + 100)
            self.ok("encryption", "rotate", "--principal", "n1")
            time.sleep(1.1)  # Servers look at KEYS once a second.
        self.put_rows(300, 400)
        self.assertEqual(self.count(), 400)
        self.ok("table", "compact", "plainlytable")
        rows = [line.split(",") for line in self.ok(
            "encryption", "status", "--principal", "n1", "--format",
            "csv").splitlines()]
        self.assertEqual(rows[1][2], "4")
        self.assertEqual(rows[3][0], "tables")
        self.assertGreater(int(rows[3][1]), 0)
        self.assertEqual(rows[3][4], "0")
        self.assertEqual(rows[4][0], "logs")
        self.assertEqual(rows[4][4], "0")
        self.assertEqual(self.files_with_marker(c), [])
        c.kill("n1")
        self.ok("cluster", "start")
        self.await_master(c)
        self.assertEqual(self.count(), 400)


if __name__ == "__main__":
    main()

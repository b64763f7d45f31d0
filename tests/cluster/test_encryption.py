"""A cluster that is encrypted: what users stored is in no file of any node, not
in logs of cells either, while it works and after crashes; without its master
key a node does not start."""

import os
import random
import re
import signal
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
        """The working files of a job cannot be read either. (Its parameter,
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

    def new_tables(self, *names):
        for name in names:
            self.ok("table", "create", name, "--family", "plainlyfamily")

    def watch(self, c, *command, marker=b"plainlyvalue"):
        """Run it; whenever it is looked, no file has the marker."""
        process = self.start(*command)
        while process.poll() is None:
            self.assertEqual(self.files_with_marker(c, marker), [])
            time.sleep(0.2)
        return process.returncode

    def test_loads(self):
        """Rows that are loaded as files of their own, by a client that has no
        key, and by tasks of a job; a client that may not write gets none."""
        c = self.serve(1)
        self.new_tables("plainlytable", "copied")
        self.write("rows.tsv", "".join(
            "plainlyrow%05d\tplainlyfamily:q\t1\t%s%d\n" % (i, VALUE, i)
            for i in range(300)))
        self.assertEqual(
            self.watch(c, "load", "plainlytable", "rows.tsv"), 0)
        self.assertEqual(self.count(), 300)
        self.assertEqual(self.files_with_marker(c, b"plainlyvalue"), [])
        self.assertEqual(self.files_with_marker(c, b"plainlyrow"), [])
        self.assertEqual(self.watch(
            c, "job", "run", "--mapper", "cut -f1,2,4", "--reducer",
            "cat; sleep 2", "-i", "table:plainlytable", "-o",
            "table:copied?bulk=yes"), 0)
        self.assertEqual(self.ok("scan", "copied").count(VALUE), 300)
        self.assertEqual(self.files_with_marker(c, b"plainlyvalue"), [])
        self.ok("acl", "grant", "copied", "own", "owner")
        # When it begins: a key would be lent for the asking.
        self.assertIn('load into copied: "stranger" may not write', self.fails(
            1, "load", "copied", "rows.tsv", "--principal", "stranger"))
        # Loaded rows are read again by a server that restarts.
        c.kill("n1")
        self.ok("cluster", "start")
        self.await_master(c)
        self.assertEqual(self.count(), 300)
        self.ok("table", "compact", "plainlytable")
        self.assertEqual(self.count(), 300)
        self.assertEqual(self.files_with_marker(c, b"plainlyvalue"), [])

    def test_changes_of_jobs(self):
        """Changes that wait for the end of their job, and what its history says
        of rows."""
        c = self.serve(1)
        self.put_rows(0, 50)
        self.new_tables("copied")
        self.ok("table", "split", "plainlytable", "plainlyrow3")
        # One of two tasks is done long before the other.
        mapper = "awk '{print} /plainlyrow9/ {n = 1} END {if (n) " \
            "system(\"sleep 4\")}' | cut -f1,2,4"
        self.assertEqual(self.watch(
            c, "job", "run", "--mapper", mapper, "-i", "table:plainlytable",
            "-o", "table:copied"), 0)
        self.assertEqual(self.ok("scan", "copied").count(VALUE), 50)
        self.assertIn("plainlyrow", self.fails(
            1, "job", "run", "--mapper", "cut -f1 | sed 's/^/no:/'", "-i",
            "table:plainlytable", "-o", "table:copied"))
        self.assertIn("plainlyrow", self.ok("job", "status", "last"))
        self.assertEqual(self.files_with_marker(c, b"plainlyrow"), [])
        c.kill("n1")
        self.ok("cluster", "start")
        self.wait_for(lambda: b"plainlyrow" in self.run_quarry(
            "job", "status", "last").stdout)
        self.assertEqual(self.files_with_marker(c, b"plainlyrow"), [])

    def test_what_goes_from_job_to_job(self):
        """The records of a job that is several are not to be read between two
        of them."""
        c = self.serve(1)
        self.ok("table", "create", "links", "--family", "link")
        self.ok("table", "create", "ranks", "--family", "rank")
        # Names that no compression hides.
        noise = [c for c in range(1, 256) if c not in b"\t\n\r\\"]
        names = [b"plainlyrow" + b"%03d" % i + bytes(
            random.Random(i).choices(noise, k=80)) for i in range(200)]
        with open(self.path("links.tsv"), "wb") as f:
            for i, name in enumerate(names):
                f.write(name + b"\tlink:" + names[i * 7 % 200] + b"\t1\tx\n")
        self.ok("load", "links", "links.tsv")
        self.assertEqual(self.watch(
            c, "job", "run", "page_rank", "-p", "iterations=8", "-i",
            "table:links", "-o", "table:ranks", marker=b"plainlyrow"), 0)
        self.assertIn("200", self.ok("count", "ranks"))
        self.assertEqual(self.files_with_marker(c, b"plainlyrow"), [])

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

    def keys_name(self, path):
        """Which master key a KEYS file is sealed with."""
        with open(path, "rb") as f:
            return f.read(24)[16:]

    def all_keys(self, c):
        return [os.path.join(top, "KEYS") for name in c.names
                for top, _, names in os.walk(c.dir(name)) if "KEYS" in names]

    def test_new_master_key_without_a_restart(self):
        """Every server continues while its master key is changed: by another file
        that the configuration names, and by a file in the place of the one
        before; and data keys that are made afterwards are read by all."""
        c = self.serve(3)
        pids = [c.pid(name) for name in c.names]
        self.put_rows(0, 100)
        new = self.new_key("new")
        before = {p: self.keys_name(p) for p in self.all_keys(c)}
        self.assertGreater(len(before), 3)
        self.configure(c, "key-file = %s\nprevious-key-file = %s\n" %
                       (new, self.key))
        for name in c.names:
            c.signal(name, signal.SIGHUP)
        for path, name in before.items():
            self.wait_for(lambda: self.keys_name(path) != name)
        self.env["QUARRY_ENCRYPTION_KEY"] = new
        self.wait_for(lambda: self.run_quarry(
            "encryption", "rotate", "--principal", "n1").returncode == 0)
        os.replace(self.new_key("newer"), new)
        before = {p: self.keys_name(p) for p in before}
        for name in c.names:
            c.signal(name, signal.SIGHUP)
        for path, name in before.items():
            self.wait_for(lambda: self.keys_name(path) != name)
        self.wait_for(lambda: self.run_quarry(
            "encryption", "rotate", "--principal", "n1").returncode == 0)
        self.put_rows(100, 200)
        self.ok("table", "compact", "plainlytable")
        self.assertEqual(self.count(), 200)
        self.assertEqual([c.pid(name) for name in c.names], pids)
        self.configure(c, "key-file = %s\n" % new)
        for name in c.names:
            c.kill(name)
        self.ok("cluster", "start")
        self.await_master(c)
        self.assertEqual(self.count(), 200)
        # One that cannot be read leaves all as it was.
        os.unlink(new)
        c.signal("n1", signal.SIGHUP)
        self.wait_for(lambda: "not read again what=encryption" in c.log("n1"))
        self.assertEqual(self.count(), 200)

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

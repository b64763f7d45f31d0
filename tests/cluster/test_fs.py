"""`quarry fs` against a cluster of real processes: every verb does what it
says, mistakes are named, and a node that dies meanwhile costs nothing."""

import os
import random
import re
import threading
import time
import urllib.request

from processes import CELL, ClusterTest, main

TARGET = "cluster:quarry-cluster"


class FsTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def fs(self, *args, stdin=None):
        return self.ok("fs", *args, stdin=stdin)

    def error(self, *args, status=1):
        return self.fails(status, "fs", *args)

    def paths(self, *args):
        return [row["path"] for row in self.json("fs", "ls", *args)]

    def facts(self, path):
        return {row["name"]: row["value"]
                for row in self.json("fs", "stat", path)}


class OneNode(FsTest):
    """Tests that need one copy of everything only."""

    def test_bytes(self):
        """Files go in and come out as they were, by name, into directories,
        from standard input and to standard output."""
        self.loopback(1, CELL)
        big = random.Random(1).randbytes(3 << 20)
        self.write("big", big)
        self.write("small", "one\ntwo\n")
        self.fs("put", "big", "small", "/in/")
        self.assertEqual(self.paths("/in"), ["/in/big", "/in/small"])
        self.fs("put", "-", "/in/third", stdin="three\n")
        self.assertEqual(self.fs("cat", "/in/small", "/in/third"),
                         "one\ntwo\nthree\n")
        self.assertEqual(self.fs("tail", "-c", "4", "/in/small"), "two\n")
        self.assertEqual(self.fs("tail", "/in/small"), "one\ntwo\n")
        self.fs("get", "/in/big", "out")
        with open(self.path("out"), "rb") as f:
            self.assertEqual(f.read(), big)
        os.mkdir(self.path("here"))
        self.fs("get", "/in/small", "here")
        with open(self.path("here/small")) as f:
            self.assertEqual(f.read(), "one\ntwo\n")
        self.assertEqual(self.fs("get", "/in/third", "-"), "three\n")
        self.fs("put", "-a", "small", "/in/third")
        self.assertEqual(self.fs("cat", "/in/third"), "three\none\ntwo\n")
        self.fs("put", "--force", "small", "/in/third")
        self.assertEqual(self.fs("cat", "/in/third"), "one\ntwo\n")
        self.fs("put", "-", "/in/empty", stdin="")
        self.assertEqual(self.fs("cat", "/in/empty"), "")

    def test_names(self):
        """Directories are made, listed, counted, renamed, copied at once and
        removed, into the trash or for good."""
        self.loopback(1, CELL)
        self.write("f", "x" * 1000)
        self.fs("mkdir", "/a/b", "/c")
        self.fs("put", "f", "/a/b/f1")
        self.fs("put", "f", "/a/f2")
        self.assertEqual(self.paths(), ["/a", "/c"])
        self.assertEqual(self.paths("-R", "/a"),
                         ["/a/b", "/a/b/f1", "/a/f2"])
        self.assertEqual(self.paths("/a/f2"), ["/a/f2"])
        self.assertEqual(
            [(r["path"], r["bytes"], r["files"], r["directories"])
             for r in self.json("fs", "du", "/")],
            [("/a", 2000, 2, 2), ("/c", 0, 0, 1), ("/", 2000, 2, 4)])
        self.fs("snapshot", "/a", "/then")
        self.fs("mv", "/a/f2", "/c")
        self.fs("mv", "/a/b", "/b")
        self.assertEqual(self.paths("-R"), [
            "/a", "/b", "/b/f1", "/c", "/c/f2",
            "/then", "/then/b", "/then/b/f1", "/then/f2"])
        self.assertEqual(self.fs("cat", "/then/f2"), "x" * 1000)
        self.fs("rm", "/c/f2")
        self.fs("rm", "-r", "/b")
        trash = self.paths("-R", "/.trash")
        self.assertTrue(any(p.endswith("/c/f2") for p in trash), trash)
        f1, = [p for p in trash if p.endswith("/b/f1")]
        self.fs("mv", f1, "/back")
        self.assertEqual(self.fs("cat", "/back"), "x" * 1000)
        self.fs("rm", "-r", "--skip-trash", "/then", "/.trash")
        self.assertEqual([p for p in self.paths("-R") if "f" in p], [])

    def calls(self, cluster):
        """The requests to the node since it started."""
        with open(cluster.dir("n1") + "/server.conf") as f:
            at = re.search(r"^console = (.*)$", f.read(), re.M).group(1)
        with urllib.request.urlopen("http://%s/metrics" % at) as answer:
            return sum(int(n) for n in
                       re.findall(r"^quarry_rpc_calls_total\{.*\} (\d+)$",
                                  answer.read().decode(), re.M))

    def test_large_directory(self):
        """A directory is listed by pages, not by a call an entry; so is one
        level of bytes and files."""
        count = 2100
        c = self.loopback(1, CELL)
        self.write("f", "x")
        self.fs("mkdir", *["/many/d%04d" % i for i in range(count)])
        self.fs("put", "f", "/many/f")
        for words in (("ls", "/many"), ("ls", "-R", "/"), ("du", "/many")):
            before = self.calls(c)
            rows = self.json("fs", *words)
            least = count if "-R" in words else 0
            self.assertLess(self.calls(c) - before - least, count / 2)
            self.assertGreater(len(rows), count)
            if words[0] == "ls":
                self.assertEqual([r["copies"] for r in rows if r["path"] ==
                                  "/many/f"], [3])

    def test_mistakes(self):
        """An impossible request is refused with the path as users know it, and
        nothing is left behind."""
        self.loopback(1, CELL)
        self.write("f", "1")
        self.fs("put", "f", "/d/f")
        gone = "quarry: /nope: no such file or directory"
        for words in (("ls", "/nope"), ("cat", "/nope"), ("stat", "/nope"),
                      ("du", "nope"), ("tail", "/nope"), ("rm", "/nope"),
                      ("get", "/nope"), ("mv", "/nope", "/x"),
                      ("snapshot", "/nope", "/x"), ("setrep", "2", "/nope"),
                      ("fsck", "/nope"), ("put", "-a", "f", "/nope")):
            self.assertEqual(self.error(*words), gone, words)
        self.assertFalse(os.path.exists(self.path("nope")))
        self.assertIn("/d: is a directory", self.error("cat", "/d"))
        self.assertIn("/d is a directory (-R", self.error("get", "/d"))
        self.assertFalse(os.path.exists(self.path("d")))
        self.assertIn("/d is a directory (-r", self.error("rm", "/d"))
        self.assertIn("/d/f exists (--force", self.error("put", "f", "/d"))
        self.assertIn("/d/f: is not a directory",
                      self.error("mkdir", "/d/f/x"))
        self.assertIn("/d: cannot move below itself",
                      self.error("mv", "/d", "/d/x"))
        self.assertIn("/d exists", self.error("snapshot", "/d", "/d"))
        self.assertIn("the root", self.error("rm", "-r", "/"))
        self.assertIn("bad file name", self.error("ls", "/d/../x"))
        self.assertIn("here: No such file", self.error("put", "here", "/"))
        self.assertIn("quarry: . is a directory", self.error("put", ".", "/"))
        self.assertIn("File exists (--force",
                      self.error("get", "/d/f", "f"))
        self.assertIn("no chunk server has the address 1.2.3.4:5",
                      self.error("leave", "1.2.3.4:5"))
        self.fs("quota", "/d", "--bytes", "1GiB")
        self.fs("quota", "/d", "--entries", "1")
        shown = self.fs("quota", "/d")
        self.assertIn("entry_quota", shown)
        self.assertIn("1 GiB", shown)  # One bound does not undo the other.
        self.assertIn("/d: quota of 1 files", self.error("put", "f", "/d/g"))
        self.assertEqual(self.paths("-R"), ["/d", "/d/f"])

    def test_wrong_use(self):
        """Wrong usage of a command gives a message and status 2."""
        self.loopback(1, CELL)
        for words, text in (
                ((), "which of its commands?"),
                (("frobnicate",), "no such command"),
                (("cat",), "expects PATH"),
                (("mv", "/a"), "expects FROM… TO"),
                (("put", "f"), "expects LOCAL"),
                (("stat", "/a", "/b"), "fs stat"),
                (("setrep", "none", "/a"), "'none' is no number"),
                (("setrep", "99", "/a"), "'99' is no number"),
                (("quota", "/a", "--bytes", "lots"), "'lots' is no size"),
                (("tail", "-c", "0", "/a"), "--bytes"),
                (("ls", "--upside-down"), "--upside-down")):
            self.assertIn(text, self.error(*words, status=2), words)
        self.assertIn("is a directory", self.fails(
            1, "fs", "df", "-t", "file:here"))


class ThreeNodes(FsTest):
    def test_copies(self):
        """setrep, stat, fsck and df agree on how many copies there are and
        where; a dead server's are made again."""
        c = self.loopback(3, CELL)
        self.wait_for(lambda: [r["state"] for r in self.json("fs", "df")] ==
                      ["up"] * 3)
        self.write("f", "x" * 100000)
        self.fs("put", "f", "/f")
        self.assertEqual(self.facts("/f")["copies"], "3")

        def there():
            """Where it is; a namenode that has just begun to lead hears so."""
            chunk = next(v for k, v in self.facts("/f").items()
                         if k.startswith("chunk"))
            return chunk.count("127.0.0.1:")
        self.wait_for(lambda: there() == 3)
        self.fs("setrep", "2", "/f")
        self.assertEqual(self.facts("/f")["copies"], "2")
        self.assertEqual(self.fs("fsck", "/"), "")
        self.wait_for(lambda: there() == 2)
        self.assertEqual(sorted((r["state"], r["rack"])
                                for r in self.json("fs", "df")),
                         [("up", "r1"), ("up", "r2"), ("up", "r3")])
        self.fs("setrep", "3", "/f")
        c.kill("n2")

        def down():
            return {r["state"] for r in self.json("fs", "df")} == \
                {"up", "down"}
        self.wait_for(down)
        finding, = self.json("fs", "fsck")
        self.assertEqual((finding["path"], finding["wanted"]), ("/f", 3))
        c.start("n2")
        self.wait_for(lambda: self.fs("fsck") == "")

    def test_node_dies(self):
        """Verbs work while one node after the other is killed: nothing that
        was put is lost, and every answer is right."""
        c = self.loopback(3, CELL)
        data = {i: random.Random(i).randbytes(200000 + i) for i in range(40)}
        done = []
        failed = []

        def work():
            try:
                for i in sorted(data):
                    self.write("in%d" % i, data[i])
                    self.fs("put", "in%d" % i, "/dir%d/tmp" % (i % 3))
                    self.fs("mv", "/dir%d/tmp" % (i % 3),
                            "/dir%d/f%d" % (i % 3, i))
                    done.append(i)
                    old = random.choice(done)
                    self.fs("get", "/dir%d/f%d" % (old % 3, old), "-f", "out")
                    with open(self.path("out"), "rb") as f:
                        self.assertEqual(f.read(), data[old])
            except AssertionError as e:
                failed.append(e)
        worker = threading.Thread(target=work)
        worker.start()
        for name in ("n1", "n2", "n3"):
            if worker.is_alive():
                time.sleep(1.5)
                c.kill(name)
                time.sleep(2)
                c.start(name)
        worker.join()
        self.assertEqual(failed, [])
        for i in sorted(data):
            got = self.run_quarry("fs", "cat", "/dir%d/f%d" % (i % 3, i))
            self.assertEqual(got.stdout, data[i])
        self.wait_for(lambda: self.fs("fsck") == "")


if __name__ == "__main__":
    main()

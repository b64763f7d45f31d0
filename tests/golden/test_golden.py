"""Files that earlier releases left behind are read as they read them: a store in a
directory, and a cluster of one node, both after kill -9. make.py made them."""

import glob
import json
import os
import re
import sys
import tarfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
sys.path.insert(0, HERE)
from make import QUESTIONS  # noqa: E402
from processes import ClusterTest, free_ports, main  # noqa: E402


class GoldenTest(ClusterTest):
    def unpack(self, archive):
        with tarfile.open(archive) as tar:
            tar.extractall(self.dir)
        with open(self.path("said.json")) as f:
            return json.load(f)

    def check_answers(self, target, said):
        """As the release printed it, but for what depends on when files are
        written, and for the order in which partitions tell changes."""
        self.maxDiff = 2000
        for q in QUESTIONS:
            now = self.ok(*q, "-t", target).split("\nquota")[0]
            was = said[" ".join(q)].split("\nquota")[0]
            self.assertEqual(sorted(now.split("\n")),
                             sorted(was.split("\n")), q)

    def moved(self):
        """The node finds itself in another place and on other ports."""
        path = self.path("cluster/n1/server.conf")
        with open(path) as f:
            text = f.read()
        place = re.search(r'data = "(.*)/n1"', text).group(1)
        text = text.replace(place, self.path("cluster"))
        old = sorted(set(re.findall(r"127\.0\.0\.1:(\d+)", text)))
        for was, now in zip(old, free_ports(len(old))):
            text = text.replace(":" + was, ":%d" % now)
        with open(path, "w") as f:
            f.write(text)

    def check(self, archive):
        said = self.unpack(archive)
        self.assertIn("value 1 value 1", said["store"]["scan web --format json"])
        self.check_answers("file:store", said["store"])
        self.ok("check", "-t", "file:store")
        # New rows lie beside the old ones.
        self.ok("put", "web", "r999", "a:x=new", "-t", "file:store")
        self.ok("table", "compact", "web", "-t", "file:store")
        self.assertEqual(self.ok("get", "web", "r999", "-t", "file:store",
                                 "--format", "json").count("new"), 1)
        self.moved()
        try:
            self.ok("cluster", "start", "--data", "cluster", "-q")
            self.check_answers("cluster:cluster", said["cluster"])
        finally:
            self.run_quarry("cluster", "stop", "--data", "cluster")

    def test_each_release(self):
        archives = sorted(glob.glob(os.path.join(HERE, "*.tar.xz")))
        self.assertTrue(archives)
        for archive in archives:
            with self.subTest(os.path.basename(archive)):
                self.check(archive)


if __name__ == "__main__":
    main()

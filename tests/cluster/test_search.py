"""Search over a table of a cluster of real processes: answers stay whole while a
node is killed, or are errors; a follower that servers run keeps the index
right; and who may not read the table finds nothing, by no way."""

import gzip
import json
import os
import sys

from processes import ClusterTest, main
from test_access import CertifiedTest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from archived_site import FIRST, response  # noqa: E402

TARGET = "cluster:quarry-cluster"
ROLES = "lock, namenode, chunk, tablet, master, follow"


def crawl(count):
    """Pages of which each has a word that all have, and one of its own."""
    return b"".join(gzip.compress(response(
        "http://h%d.example/p%d" % (n % 3, n), FIRST,
        "<title>Page %d</title><p>harvest report number%d" % (n, n)))
        for n in range(count))


class SearchTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def found(self, *query):
        """(URLs of the results, the error) of a search."""
        done = self.run_quarry("search", "web", *query, "--limit", "100",
                               "--all", "--format", "json")
        urls = [json.loads(line)["url"] for line in done.stdout.splitlines()]
        return urls, done.stderr.decode() if done.returncode else ""

    def test_killed_node(self):
        """A search while a node is killed gives all results or fails with a
        sentence; with two of three nodes it works, and so does an update by
        the follower that a server runs."""
        cluster = self.loopback(3, roles=ROLES, settings="[tablet]\n"
                                "lease = 3s\n[master]\nlease = 3s\n"
                                "[namenode]\nserver-dead = 3s\n")
        self.write("crawl.warc.gz", crawl(40))
        self.wait_for(lambda: self.run_quarry(
            "import", "warc", "crawl.warc.gz", "--into", "web").returncode == 0)
        self.ok("table", "alter", "web", "--changes", "1h")
        self.ok("search", "build", "web")
        want, error = self.found("harvest")
        self.assertEqual((len(want), error), (40, ""))
        self.ok("search", "follow", "web")
        cluster.kill("n2")
        worked = 0

        def searched():
            nonlocal worked
            urls, error = self.found("harvest")
            if error:
                self.assertIn("quarry: ", error)
            else:
                self.assertEqual(urls, want)
                worked += 1
            return worked == 3
        self.wait_for(searched)
        self.write("more.warc.gz", gzip.compress(response(
            "http://h9.example/new", FIRST, "<title>New</title><p>barley")))
        self.wait_for(lambda: self.run_quarry(
            "import", "warc", "more.warc.gz", "--into", "web").returncode == 0)
        self.wait_for(lambda: self.found("barley")[0] ==
                      ["http://h9.example/new"])
        self.assertIn("search/web", self.ok("follow", "list"))


class RightsTest(CertifiedTest):
    def test_rights(self):
        """A principal that may not read the table may not search it, nor read
        the files of its index; one that may read both may."""
        self.become("ann")
        self.write("crawl.warc.gz", crawl(3))
        self.wait_for(lambda: self.run_quarry(
            "import", "warc", "crawl.warc.gz", "--into", "web").returncode == 0)
        self.ok("search", "build", "web")
        self.assertIn("Page 1", self.ok("search", "web", "number1"))
        self.write("list", "block http://h1.example/p1 they asked\n")
        self.assertNotIn("Page 1", self.ok("search", "web", "harvest", "--block",
                                           "list"))
        self.become("stranger")
        self.assertIn("may not read", self.fails(1, "search", "web", "number1"))
        self.assertIn("may not", self.fails(1, "fs", "ls", "/search/web"))
        self.assertIn("may not", self.fails(1, "fs", "cat",
                                            "/search/web/MANIFEST"))
        self.become("ann")
        self.ok("acl", "grant", "web", "read", "reader")
        self.become("reader")
        self.assertIn("may not", self.fails(1, "search", "web", "number1"))
        self.become("ann")
        self.ok("acl", "grant", "--path", "/search/web", "read", "reader")
        self.become("reader")
        self.assertIn("Page 1", self.ok("search", "web", "number1"))


if __name__ == "__main__":
    main()

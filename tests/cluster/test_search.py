"""Search over a table of a cluster of real processes: answers stay whole while a
node is killed, or are errors; workers make an index though one of them dies; a
follower that servers run keeps the index right; and who may not read the table
finds nothing, by no way."""

import gzip
import json
import os
import random
import subprocess
import sys
import time

from processes import QUARRY, ClusterTest, main
from test_access import CertifiedTest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
from archived_site import FIRST, response  # noqa: E402

TARGET = "cluster:quarry-cluster"
ROLES = "lock, namenode, chunk, tablet, master, follow"
PAGES = 300 # That workers read.


def crawl(count):
    """Pages of which each has a word that all have, and one of its own."""
    return b"".join(gzip.compress(response(
        "http://h%d.example/p%d" % (n % 3, n), FIRST,
        "<title>Page %d</title><p>harvest report number%d" % (n, n)))
        for n in range(count))


def long_crawl(count, words):
    """Pages that take their time."""
    chance = random.Random(1)
    return b"".join(gzip.compress(response(
        "http://h%d.example/p%d" % (n % 3, n), FIRST,
        "<title>Page %d</title><p>harvest number%d %s" % (n, n, " ".join(
            "word%d" % chance.randrange(5000) for _ in range(words)))), 1)
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

    def segments(self):
        """The contents of the segments of the index."""
        names = [row["path"] for row in self.json("fs", "ls", "/search/web")]
        return {subprocess.check_output(
            [QUARRY, "fs", "cat", "/search/web/" + os.path.basename(name)],
            env=self.env, cwd=self.dir)
            for name in names if name.endswith(".segment")}

    def built(self, *options):
        return json.loads(self.ok("search", "build", "web", "--from-scratch",
                                  "--format", "json", *options))

    def test_built_by_workers(self):
        """Workers of a cluster read the rows, and make the index that one
        process makes, to the byte; also if one of them is killed meanwhile. An
        update reads what changed, and nothing is left of the job."""
        cluster = self.loopback(3, roles=ROLES + ", jobs, worker",
                                settings="[tablet]\nlease = 3s\n[master]\n"
                                "lease = 3s\n[namenode]\nserver-dead = 3s\n")
        self.write("crawl.warc.gz", long_crawl(PAGES, 2500))
        self.wait_for(lambda: self.run_quarry(
            "import", "warc", "crawl.warc.gz", "--into", "web").returncode == 0)
        self.wait_for(lambda: len(self.json("job", "workers")) == 3)
        report = self.built("--here", "--threads", "1")
        self.assertEqual((report["pages"], report["read_by"]),
                         (PAGES, "1 thread"))
        alone = self.segments()
        want, _ = self.found("harvest", "word7")
        self.assertEqual(len(want), 100)
        report = self.built()
        self.assertEqual((report["rows"], report["rows_read"],
                          report["pages"], report["segments"]),
                         (PAGES, PAGES, PAGES, 1))
        self.assertTrue(report["read_by"].startswith("job "), report)
        self.assertEqual(self.segments(), alone)
        self.assertFalse([row for row in self.json("fs", "ls", "/search/web")
                          if "made-" in row["path"]])
        self.assertEqual(self.found("harvest", "word7")[0], want)
        report = json.loads(self.ok("search", "build", "web", "--format",
                                    "json"))
        self.assertEqual((report["way"], report["rows_read"]), ("compared", 0))

        def jobs_begun():
            return sum(cluster.log(name).count("restore name=.job-")
                       for name in cluster.names)
        before = jobs_begun()
        build = subprocess.Popen(
            [QUARRY, "search", "build", "web", "--from-scratch", "--format",
             "json"], env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for(lambda: jobs_begun() > before)
        time.sleep(0.4) # Until the maps run, each for half a second.
        cluster.kill("n2")
        out, err = build.communicate()
        self.assertEqual(build.returncode, 0, err.decode())
        self.assertEqual(json.loads(out)["pages"], PAGES)
        self.assertEqual(self.found("harvest", "word7")[0], want)

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
    more_roles = ",jobs,worker"

    def test_rights_of_builds(self):
        """A job that makes an index has the rights of who builds it."""
        self.become("ann")
        self.write("crawl.warc.gz", crawl(3))
        self.wait_for(lambda: self.run_quarry(
            "import", "warc", "crawl.warc.gz", "--into", "web").returncode == 0)
        self.wait_for(lambda: self.json("job", "workers"))
        self.become("stranger")
        self.assertIn("may not", self.fails(1, "search", "build", "web"))
        self.become("ann")
        self.assertIn("job ", self.ok("search", "build", "web"))
        self.assertIn("Page 1", self.ok("search", "web", "number1"))
        self.become("stranger")
        self.assertIn("may not", self.fails(1, "fs", "ls", "/search/web"))

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

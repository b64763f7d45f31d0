"""quarry search follow: after any order of imports, overwritten pages and
deletions, whose followers are killed in the middle of an update, a search finds
what it finds in an index made from scratch."""

import gzip
import json
import os
import random
import subprocess
import time

from archived_site import response
from harness import QUARRY, CliTest, main

PAGES = 12
WORDS = ["apple", "barley", "cedar", "dill", "elder", "fern"]
ROUNDS = 5


class SearchFollow(CliTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("QUARRY_SEED", "7"))
        self.chance = random.Random(self.seed)
        self.clock = 0

    def page(self, number):
        """A capture with words by chance, at a time of its own or at the one
        of the capture before, which it overwrites."""
        self.clock += self.chance.randrange(2)
        words = " ".join(self.chance.choice(WORDS) for _ in range(6))
        return response("http://h%d.example/p%d" % (number % 3, number),
                        "202001010000%02d" % self.clock,
                        "<title>%s</title><p>%s" % (
                            self.chance.choice(WORDS), words))

    def change(self):
        pages = self.chance.sample(range(PAGES), 3)
        self.write("some.warc.gz", b"".join(
            gzip.compress(self.page(n)) for n in pages))
        self.ok("import", "warc", "some.warc.gz", "--into", "web")
        if self.chance.randrange(2):
            n = self.chance.randrange(PAGES)
            self.ok("delete", "web", "example.h%d/p%d" % (n % 3, n))

    def results(self):
        """All that is found for words, phrases and dates."""
        out = []
        for query in ("apple barley", '"cedar dill"', "+fern -elder",
                      "site:h1.example before:2020-01-01T00:00:04Z"):
            found = self.ok("search", "web", query, "--all", "--limit", "100",
                            "--format", "json")
            out.append([(r["url"], r["time"], r["captures"], r["score"])
                        for r in map(json.loads, found.splitlines())])
        return out

    def kill_a_follower(self):
        p = subprocess.Popen([QUARRY, "follow", "run", "search/web"],
                             cwd=self.dir, env=self.env,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        time.sleep(self.chance.random() * 1.5)
        p.kill()
        p.wait()

    def test_kills(self):
        print("QUARRY_SEED=%d" % self.seed)
        self.change()
        self.ok("table", "alter", "web", "--changes", "1h")
        self.ok("search", "follow", "web")
        self.assertIn("already", self.fails(1, "search", "follow", "web"))
        for _ in range(ROUNDS):
            self.change()
            self.kill_a_follower()
        self.ok("follow", "run", "search/web", "--until-caught-up")
        followed = self.results()
        self.assertTrue(any(followed))
        self.ok("search", "build", "web", "--from-scratch")
        self.assertEqual(followed, self.results())
        status = json.loads(self.ok("search", "status", "web", "--format",
                                    "json"))
        self.assertEqual((status["follower"], status["segments"]),
                         ("waiting", 1))
        self.assertTrue(status["newest"].startswith("2020-01-01"))
        self.ok("search", "drop", "web")
        self.assertNotIn("search/web", self.ok("follow", "list"))

    def test_refused(self):
        """A table that keeps no changes cannot be followed."""
        self.change()
        self.assertIn("changes", self.fails(1, "search", "follow", "web"))


if __name__ == "__main__":
    main()

"""Observers whose hosts are killed under load: each change has its effect once,
also where the effect is not idempotent; and servers with the role follow run
them."""

import json
import random
import subprocess

from processes import QUARRY, ClusterTest, main

TARGET = "cluster:quarry-cluster"
HASTY = "[tablet]\nlease = 3s\n[master]\nlease = 3s\n" \
    "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n"
ROLES = "lock, namenode, chunk, tablet, master"
ROWS = 12
# Adds the changes of a row up: one that comes twice, or not at all, shows.
COUNT = """def count(row):
    n = int(row.value("g:n", b"0")) + row.changed.count("c:text")
    yield row.key, "g:n", n
"""
WORDS = """doc: table sum[word: string][page: string] of int;
r: Row = input;
text: bytes = cell(r, "c:text");
if (def(text))
  emit doc[string(text)][string(r.key)] <- 1;
"""


class FollowersTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET
        self.write("count.py", COUNT)
        self.write("words.szl", WORDS)

    def host(self):
        p = subprocess.Popen([QUARRY, "follow", "run", "--weak-sandbox"],
                             cwd=self.dir, env=self.env,
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (p.kill(), p.wait()))
        return p

    def runs(self):
        return any(r["follower"] == "observer/count" and
                   r["state"] == "running"
                   for r in self.json("follow", "list"))

    def cells(self, table):
        """{(row, qualifier): value}"""
        done = self.run_quarry("scan", table, "--versions", "1", "--format",
                               "json")
        rows = map(json.loads, done.stdout.splitlines())
        return {(r["row"], c["family"], c["qualifier"]): c["value"]
                for r in rows for c in r["cells"]}

    def make(self):
        self.wait_for(lambda: self.run_quarry(
            "table", "create", "t", "--family", "c,versions=1", "--family",
            "g,versions=1", "--changes", "1d",
            "--transactions").returncode in (0, 1) and self.run_quarry(
                "table", "describe", "t").returncode == 0)
        self.ok("table", "create", "out", "--family", "doc,versions=1",
                "--transactions")
        self.ok("observer", "create", "count", "--table", "t", "--column",
                "c", "--python", "count.py:count", "--writes", "t:g",
                "--output", "t")
        self.ok("observer", "create", "words", "--table", "t", "--column",
                "c", "--saw", "words.szl", "--output", "out")

    def write_some(self, chance, count, counts, words):
        """Puts, each counted, and the last word of each row."""
        lines = []
        for _ in range(count):
            row = "r%02d" % chance.randrange(ROWS)
            words[row] = "w%d" % chance.randrange(5)
            counts[row] = counts.get(row, 0) + 1
            lines.append("put t %s c:text=%s\n" % (row, words[row]))
        self.ok("shell", stdin="".join(lines))

    def await_right(self, counts, words):
        want = {(w, "doc", row): "1" for row, w in words.items()}
        self.wait_for(lambda: self.cells("out") == want)

        want = {(r, "g", "n"): str(n) for r, n in counts.items()}
        self.wait_to_see(lambda: {k: v for k, v in self.cells("t").items()
                                  if k[1] == "g"}, lambda seen: seen == want)

    def test_killed_under_load(self):
        """The host of the observers is killed while rows are written, and so
        is the server of the table, which then hosts them itself."""
        c = self.loopback(1, ROLES, settings=HASTY)
        self.make()
        chance = random.Random(5)
        counts, words = {}, {}
        host = self.host()
        self.wait_for(self.runs)
        self.write_some(chance, 60, counts, words)
        host.kill()
        host.wait()
        self.write_some(chance, 30, counts, words)
        c.kill(c.names[0])
        c.set_roles(c.names[0], ROLES + ", follow")
        with open(c.dir(c.names[0]) + "/server.conf", "a") as f:
            f.write("[follow]\nweak-sandbox = yes\n")
        c.start(c.names[0])
        self.write_some(chance, 20, counts, words)
        self.await_right(counts, words)


if __name__ == "__main__":
    main()

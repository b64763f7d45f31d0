"""A view on a cluster is what its program makes of the table, after nodes that
serve the table, the view and its maintainer were killed while rows were
written."""

import os
import random
import subprocess
import time

from processes import QUARRY, ClusterTest, main

TARGET = "cluster:quarry-cluster"
HASTY = "[tablet]\nlease = 3s\n[master]\nlease = 3s\n" \
    "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n"
ROLES = "lock, namenode, chunk, tablet, master, follow"
STORM_SECONDS = int(os.environ.get("QUARRY_STORM_SECONDS", "20"))
PROGRAM = """r: Row = input;
by: table sum[g: int] of int;
best: table maximum(3) of string weight int;
n: int = int(string(cell(r, "f:n")), 10);
emit by[n % 4] <- n;
emit best <- string(r.key) weight n;
"""


class ViewsTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET
        self.write("p.szl", PROGRAM)

    def await_equal(self):
        """Until the view is what a run over the rows gives."""
        def equal():
            view = self.run_quarry("view", "show", "v")
            rows = self.run_quarry("saw", "p.szl", "--table", "t")
            return view.returncode == 0 and rows.returncode == 0 and \
                view.stdout == rows.stdout
        self.wait_for(equal)

    def test_killed_under_load(self):
        """Servers of all roles are killed while rows are written."""
        c = self.loopback(3, ROLES, settings=HASTY)
        self.wait_for(lambda: self.run_quarry(
            "table", "create", "t", "--family", "f,versions=1", "--changes",
            "1d").returncode in (0, 1) and self.run_quarry(
                "table", "describe", "t").returncode == 0)
        self.ok("view", "create", "v", "AS", "p.szl", "--table", "t")
        chance = random.Random(11)
        lines = ["put t r%03d f:n=%d" % (chance.randrange(200),
                                         chance.randrange(1000))
                 if chance.randrange(6) else
                 "delete t r%03d" % chance.randrange(200)
                 for _ in range(100000)]
        writer = subprocess.Popen(
            [QUARRY, "shell"], cwd=self.dir,
            env=dict(self.env, QUARRY_TIMEOUT="60s"),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, text=True)
        try:
            end = time.monotonic() + STORM_SECONDS
            while time.monotonic() < end:
                writer.stdin.write("".join(l + "\n" for l in lines[:50]))
                writer.stdin.flush()
                del lines[:50]
                victim = chance.choice(c.names)
                c.kill(victim)
                time.sleep(chance.uniform(0.5, 3))
                c.start(victim)
        finally:
            writer.stdin.close()
            writer.wait()
        self.await_equal()
        check = self.wait_for(lambda: self.run_quarry(
            "view", "check", "v", "--format", "json").stdout)
        self.assertIn(b'"wrong_rows": 0', check)
        self.assertIn(b'"wrong_groups": 0', check)


if __name__ == "__main__":
    main()

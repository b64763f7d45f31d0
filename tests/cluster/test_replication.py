"""Streams between a directory and a cluster, both ways, while both are written
to, tablets are split and a server is killed: both ends become equal, and what
was acknowledged at either is there."""

import subprocess
import threading

from processes import QUARRY, ClusterTest, main

TARGET = "cluster:quarry-cluster"
HASTY = "[tablet]\nlease = 3s\n[master]\nlease = 3s\n" \
    "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n"


class Replication(ClusterTest):
    def at(self, target, *args):
        """Run, as often as it takes: servers are killed."""
        said = []

        def done():
            run = subprocess.run(
                [QUARRY, "-t", target, *args], cwd=self.dir,
                env=dict(self.env, QUARRY_TIMEOUT="60s"),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, check=False)
            said.append(run)
            return run.returncode == 0
        self.wait_for(done)
        return said[-1].stdout.decode()

    def cells(self, target):
        return self.at(target, "scan", "t", "--format", "csv")

    def exchange(self):
        self.at("file:store", "replication", "send", "t", "--to", TARGET,
                "--place", "out", "--no-copy")
        self.at(TARGET, "replication", "send", "t", "--to", "file:store",
                "--place", "in", "--no-copy")

    def test_both_ways(self):
        c = self.loopback(3, settings=HASTY)
        self.wait_for(lambda: self.run_quarry(
            "-t", TARGET, "table", "list").returncode == 0)
        self.at("file:store", "table", "create", "t", "--family", "f",
                "--family", "g", "--changes", "1d")
        for i in range(30):
            self.at("file:store", "put", "t", "%02d" % i, "f:v=old", "g:v=old")
        self.at("file:store", "replication", "send", "t", "--to", TARGET,
                "--create", "--place", "out")
        self.assertEqual(self.cells("file:store"), self.cells(TARGET))
        self.at(TARGET, "replication", "send", "t", "--to", "file:store",
                "--no-copy", "--place", "in")
        written = {}

        def write(target, name):
            for i in range(12):
                row = "%02d" % (i * 7 % 30)
                column = "f:" + name
                self.at(target, "put", "t", row, column + "=%d" % i)
                written[row, name] = "%d" % i
                if i % 4 == 3:
                    self.at(target, "delete", "t", row, "g")

        for turn in range(2):
            writers = [threading.Thread(target=write, args=a) for a in
                       (("file:store", "here%d" % turn),
                        (TARGET, "there%d" % turn))]
            for w in writers:
                w.start()
            if turn == 0:
                self.at(TARGET, "table", "split", "t", "15")
            else:
                c.kill(c.names[2])
            for w in writers:
                w.join()
            self.exchange()
        self.exchange()
        self.assertEqual(self.cells("file:store"), self.cells(TARGET))
        for (row, name), value in written.items():
            got = self.at("file:store", "get", "t", row, "f:" + name)
            self.assertIn(value, got)
        said = self.at("file:store", "replication", "verify", "t", "--to",
                       TARGET)
        self.assertEqual(said, "")


if __name__ == "__main__":
    main()

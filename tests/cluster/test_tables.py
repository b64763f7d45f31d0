"""Tables of a cluster of real processes: the tests of the C library and of the
command line that are written for a directory pass against it, what goes wrong
is said with a remedy, and a killed server's tables are served again."""

import os
import subprocess
import sys
import threading
import time

from processes import QUARRY, ClusterTest, main

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(os.path.dirname(QUARRY), "tests")
# Tests of the library. Of a directory alone: scan_cache, keep_faults; by
# themselves: cluster, location_map, row_set.
SUITE = ["quarry", "errors", "families", "program", "async", "atomic", "model",
         "snapshot", "bulk_load"]
# Tests of the command line about tables.
COMMANDS = ["cells", "tables", "import"]
TARGET = "cluster:quarry-cluster"


class TablesTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_TARGET"] = TARGET

    def serve(self, count):
        """A cluster whose master is ready."""
        cluster = self.loopback(count)
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in cluster.status()))
        return cluster

    def address(self):
        with open(self.path("quarry-cluster/n1/server.conf")) as f:
            for line in f:
                if line.startswith("listen = "):
                    return line.split(" = ")[1].strip()
        return None

    def suite_env(self):
        return dict(self.env, QUARRY_TEST_TARGET=self.address(),
                    QUARRY_TEST_KEY=self.path("quarry-cluster/key"),
                    CK_TIMEOUT_MULTIPLIER="4")


class Suite(TablesTest):
    """Written for a directory, passed by a cluster."""

    def passes(self, *command, cwd=None):
        done = subprocess.run(command, cwd=cwd or self.dir,
                              env=self.suite_env(), timeout=600, check=False,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def test_library(self):
        """The suite of the C library."""
        self.serve(1)
        for name in SUITE:
            self.passes(os.path.join(PROGRAMS, "test_client_" + name))

    def test_commands(self):
        """The commands about tables."""
        self.serve(1)
        cli = os.path.join(HERE, "..", "cli")
        for name in COMMANDS:
            self.passes(sys.executable, "test_%s.py" % name,
                        os.path.abspath(QUARRY), cwd=cli)


class Failures(TablesTest):
    """Messages to the user."""

    def test_wrong_key(self):
        """A key of another cluster is refused, with the way to name one."""
        self.serve(1)
        self.write("other", "0123456789abcdef0123456789abcdef\n")
        os.chmod(self.path("other"), 0o600)
        self.table("t")
        self.env["QUARRY_TIMEOUT"] = "3s"

        def refused(*command):
            """A busy machine may take longer than that to refuse."""
            return "--key FILE" in self.fails(1, *command)
        self.wait_for(lambda: refused("--key", "other", "table", "list"))
        self.env["QUARRY_KEY"] = self.path("other")
        self.wait_for(lambda: refused("-t", self.address(), "get", "t", "r"))

    def test_nobody_answers(self):
        """A target that does not answer says so, and what to look at."""
        self.env["QUARRY_TIMEOUT"] = "3s"
        message = self.fails(1, "-t", "127.0.0.1:1", "table", "list")
        self.assertIn("127.0.0.1:1", message)
        self.assertIn("quarry cluster status", message)

    def test_timeout(self):
        """$QUARRY_TIMEOUT bounds the tries of every kind of call; one that is
        no time is named."""
        for command in (["get", "t", "r"], ["fs", "ls"], ["lock", "ls"]):
            self.env["QUARRY_TIMEOUT"] = "10ms"
            self.fails(1, "-t", "127.0.0.1:1", *command)
            self.env["QUARRY_TIMEOUT"] = "soon"
            self.assertIn("$QUARRY_TIMEOUT", self.fails(
                2, "-t", "127.0.0.1:1", *command))


class Servers(TablesTest):
    """Servers come and go."""

    def test_a_killed_server(self):
        """Rows written before a server is killed are read while it is down, a
        writer that runs meanwhile loses nothing it was told is written."""
        cluster = self.serve(3)
        self.table("t")
        for row in ("b", "d", "f", "h"):
            self.ok("table", "split", "t", row)
        written = []
        stop = threading.Event()

        def write():
            n = 0
            while not stop.is_set():
                row = "%s%04d" % ("abcdefgh"[n % 8], n)
                if self.run_quarry("put", "t", row,
                                   "f:n=%d" % n).returncode == 0:
                    written.append(row)
                n += 1
        writer = threading.Thread(target=write)
        writer.start()
        self.addCleanup(stop.set)
        self.wait_for(lambda: len(written) > 20)
        cluster.kill("n3")
        before = len(written)
        self.wait_for(lambda: len(written) > before + 10)
        stop.set()
        writer.join()
        rows = {row["row"] for row in self.json("scan", "t")}
        self.assertEqual(set(written) - rows, set())
        cluster.start("n3")
        time.sleep(1)
        self.assertGreaterEqual(len(self.json("scan", "t")), len(written))


if __name__ == "__main__":
    main()

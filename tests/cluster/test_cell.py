"""A cell of real processes: nodes that are killed, stopped or paused are
replaced as leaders, come back, and agree."""

import datetime
import os
import subprocess
import time

from processes import QUARRY, SECONDS, ClusterTest, free_ports, main


class CellTest(ClusterTest):
    def test_start_and_stop(self):
        """Every node answers and every cell has one leader; an orderly stop
        ends all of them, and a second start finds what was there."""
        c = self.loopback(3)
        self.assertEqual({r["node"] for r in c.status()}, {"n1", "n2", "n3"})
        c.leader("lock")
        c.leader("namenode")
        term = int(c.answer("n1")["lock"]["term"])
        self.ok("cluster", "stop")
        self.assertEqual({r["state"] for r in c.status()}, {"down"})
        for name in c.names:
            self.assertIn("stopped", c.log(name).splitlines()[-1])
            self.assertNotIn("under way", c.log(name))
        self.ok("cluster", "start")
        c.leader("lock")
        self.assertGreater(int(c.answer("n1")["lock"]["term"]), term)
        # One after the other: the last have nobody to say goodbye to.
        for name in c.names:
            c.stop(name)
            self.assertIn("stopped", c.log(name).splitlines()[-1])
        self.check_together(c.log(c.names[-1]).splitlines())

    def check_together(self, lines):
        """Roles that stop each wait for themselves, not one after another."""
        def when(line):
            return datetime.datetime.fromisoformat(line.split("Z ")[0])
        begin = max(i for i, line in enumerate(lines)
                    if " stopping signal=" in line)
        slow = [line for line in lines[begin:] if " stopped us=" in line]
        if len(slow) < 2:  # The others had nothing to wait for.
            return
        ends = [when(line) for line in slow]
        begins = [end - datetime.timedelta(
            microseconds=int(line.rsplit("=")[-1]))
            for line, end in zip(slow, ends)]
        self.assertLess(max(begins), min(ends), lines[begin:])

    def test_leader_killed(self):
        """A killed leader is replaced, and follows when it is back."""
        c = self.loopback(3)
        for _ in range(3):
            old = c.leader("lock")
            c.kill(old)
            new = c.leader("lock", other_than=[old])
            self.assertNotEqual(new, old)
            c.start(old)
            c.leader("lock")

            def caught_up(node=old):
                roles = c.roles(node).get("lock", {})
                return roles.get("leader", "-") != "-"
            self.wait_for(caught_up)

    def test_leader_paused(self):
        """A leader that hangs is replaced; awake again, it does not think that
        it still leads."""
        c = self.loopback(3)
        old = c.leader("lock")
        c.pause(old)
        new = c.leader("lock", other_than=[old])
        c.resume(old)
        self.wait_for(lambda: c.leaders("lock") == [new] or
                      len(c.leaders("lock")) == 1)

    def test_all_killed(self):
        """When all die at once, the cell is back with all of them."""
        c = self.loopback(3)
        c.leader("namenode")
        for name in c.names:
            c.kill(name)
        self.ok("cluster", "start")
        c.leader("lock")
        c.leader("namenode")

    def check_summary(self, c):
        text = self.ok("cluster", "status")
        lines = text.splitlines()
        self.assertEqual([line.split()[0] for line in lines[2:5]], c.names)
        self.assertEqual([text.count(name) for name in ("lock", "namenode")],
                         [1, 1])
        self.assertIn("on 3 of 3 chunk servers", text)
        rows = self.ok("cluster", "status", "--roles").splitlines()
        self.assertGreaterEqual(len(rows), 2 + 3 * 3 + 1)

    def test_tables_told(self):
        """Status tells how many tables there are and in how many tablets, those
        of METADATA apart."""
        self.loopback(1)

        def told(line):
            self.wait_for(lambda: line + "\n" in self.ok("cluster", "status"))
        told("tables: none, METADATA in 2 tablets, on 1 server")
        to = ("-t", "cluster:quarry-cluster")
        self.ok("table", "create", "t", "--family", "f", *to)
        told("tables: 1 in 1 tablet, METADATA in 2 tablets, on 1 server")
        self.ok("table", "create", "u", "--family", "f", *to)
        told("tables: 2 in 2 tablets, METADATA in 2 tablets, on 1 server")

    def test_status(self):
        """Status shows of each node its roles, who leads, how they are and what
        their disks have; and of the files of them all."""
        c = self.loopback(3)
        c.leader("lock")
        self.write("f", "x" * 5000)
        self.ok("fs", "put", "f", "/f", "-t", "cluster:quarry-cluster")

        def told():
            files.update(c.files())
            return (files["chunk-servers"] == "3" and
                    files["health"] == "well" and
                    files["under-replicated"] == "0")
        files = {}
        self.wait_for(told)
        self.assertGreaterEqual(int(files["files"]), 1)
        self.assertGreaterEqual(int(files["bytes"]), 5000)
        self.assertGreater(int(files["capacity"]), int(files["free"]))

        def leaders():
            return sorted(r["role"] for r in c.status()
                          if r["leads"] == "yes" and
                          r["role"] in ("lock", "namenode"))
        self.wait_for(lambda: leaders() == ["lock", "namenode"])
        for name in c.names:
            roles = c.answer(name)
            self.assertLessEqual({"lock", "namenode", "chunk"}, set(roles))
            self.wait_for(lambda n=name: {r["health"] for r in
                                          c.answer(n).values()} == {"well"})
            self.assertGreater(int(roles["chunk"]["capacity"]), 0)
        self.check_summary(c)
        c.kill("n3")
        rows = {r["node"]: r for r in c.status()}
        self.assertEqual((rows["n3"]["state"], rows["n3"]["role"]),
                         ("down", ""))
        self.wait_for(lambda: c.files()["chunk-servers"] == "2")
        self.wait_for(lambda: c.files()["health"].startswith(
            "chunks with too few copies: "))
        c.kill("n2")
        c.pause("n1")
        last, = [r for r in c.whole_status() if r["node"] == "all"]
        self.assertEqual((last["state"], last["health"]), ("silent", ""))


class ServerTest(ClusterTest):
    def test_alone(self):
        """With --data alone a server is everything on loopback; it says when it
        is ready, and ends with 0 when told."""
        address, other = ["127.0.0.1:%d" % p for p in free_ports(2)]
        server = subprocess.Popen(
            [QUARRY, "server", "--data", "one", "--listen", address,
             "--pid-file", "pid"], cwd=self.dir, env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.kill)
        line = server.stdout.readline()
        self.assertRegex(line, "^ready %s %s lock,namenode,chunk(,[a-z]+)*\n$"
                         % (address, address))
        with open(self.path("pid")) as f:
            self.assertEqual(int(f.read()), server.pid)
        again = self.fails(1, "server", "--data", "one", "--listen", other)
        self.assertIn("in use by process %d" % server.pid, again)
        server.terminate()
        _, errors = server.communicate(timeout=SECONDS)
        self.assertEqual(server.returncode, 0, errors)
        self.assertIn("INFO server stopping signal=15", errors)
        self.assertFalse(os.path.exists(self.path("pid")))

    def test_stop_while_joining(self):
        """A tablet server that waits for files it cannot write, as there is no
        chunk server, stops as quickly as others."""
        server = subprocess.Popen(
            [QUARRY, "server", "--data", "one", "--listen",
             "127.0.0.1:%d" % free_ports(1)[0], "--log", "log",
             "--roles", "lock,namenode,tablet"],
            cwd=self.dir, env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        def log():
            with open(self.path("log")) as f:
                return f.read()
        server.stdout.readline()
        self.wait_for(lambda: "namenode leads" in log())
        time.sleep(1)  # It joins, as far as it comes.
        server.terminate()
        self.assertEqual(server.wait(timeout=SECONDS), 0, log())
        server.stdout.close()

    def test_wrong_use(self):
        """A wrong setting of a server is named."""
        self.assertIn("there is no role", self.fails(
            1, "server", "--data", "d", "--roles", "lock,cook"))
        self.assertIn("without security", self.fails(
            1, "server", "--data", "d", "--listen", "0.0.0.0:17413",
            "--roles", "lock"))
        self.assertIn("is not in its cell", self.fails(
            1, "server", "--data", "d", "--roles", "lock", "--listen",
            "127.0.0.1:17413", "--cell", "127.0.0.1:1"))
        self.assertIn("TLS needs", self.fails(
            1, "server", "--data", "d", "--certificate", "x"))
        self.write("key", "0123456789abcdef")
        os.chmod(self.path("key"), 0o644)
        self.assertIn("chmod 600", self.fails(
            1, "server", "--data", "d", "--key", "key"))
        self.write("conf", "[server]\nlisten = 127.0.0.1:17413\n"
                   "[lock]\nlaese = 3s\n")
        message = self.fails(1, "server", "--config", "conf", "--data", "d")
        self.assertIn("conf:4: unknown key laese", message)
        self.assertIn("did you mean lease", message)
        self.assertIn("log level", self.fails(
            1, "server", "--data", "d", "--log-level", "loud"))

    def test_log_reopened(self):
        """SIGHUP opens the log again, after it was moved away."""
        server = subprocess.Popen(
            [QUARRY, "server", "--data", "one", "--listen",
             "127.0.0.1:%d" % free_ports(1)[0], "--log", "log"],
            cwd=self.dir, env=self.env,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        server.stdout.readline()
        os.rename(self.path("log"), self.path("log.1"))
        server.send_signal(1)
        self.wait_for(lambda: os.path.exists(self.path("log")))
        server.terminate()
        self.assertEqual(server.wait(timeout=SECONDS), 0)
        server.stdout.close()
        with open(self.path("log")) as f:
            self.assertIn("stopped", f.read())

    def test_cluster_start_timeout(self):
        """Nodes are waited for as long as $QUARRY_TIMEOUT says, and continue
        meanwhile; nothing is started before it was understood."""
        self.ok("cluster", "start", "-n", "1")
        self.addCleanup(self.ok, "cluster", "stop")
        self.ok("cluster", "kill", "n1")
        self.env["QUARRY_TIMEOUT"] = "soon"
        self.assertIn("$QUARRY_TIMEOUT", self.fails(2, "cluster", "start"))
        self.assertIn("does not run", self.fails(1, "cluster", "kill", "n1"))
        self.env["QUARRY_TIMEOUT"] = "1ms"  # No process begins so soon.
        message = self.fails(1, "cluster", "start")
        self.assertIn("n1 does not answer yet", message)
        self.assertIn("$QUARRY_TIMEOUT", message)
        self.wait_for(lambda: {r["state"] for r in self.json(
            "cluster", "status") if r["node"] == "n1"} == {"up"})

    def test_cluster_errors(self):
        """Clusters that are not there, nodes that are not there."""
        self.assertIn("there is no cluster",
                      self.fails(1, "cluster", "status"))
        self.ok("cluster", "start", "-n", "1")
        self.addCleanup(self.ok, "cluster", "stop")
        self.assertIn("there is no node n7",
                      self.fails(1, "cluster", "kill", "n7"))
        self.assertIn("has 1 nodes already",
                      self.fails(2, "cluster", "start", "-n", "2"))
        self.ok("cluster", "kill", "n1")
        self.assertIn("does not run", self.fails(1, "cluster", "kill", "n1"))
        time.sleep(0.1)


if __name__ == "__main__":
    main()

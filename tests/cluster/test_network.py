"""Nodes on hosts of their own, with a key between them: links that are cut, one
way or both, cost a leader and no more."""

import subprocess

from processes import ClusterTest, main


class NetworkTest(ClusterTest):
    def test_leader_isolated(self):
        """A leader cut off from all is replaced by the others, and steps down
        when it is back."""
        c = self.network(3)
        old = c.leader("lock")
        c.isolate(old)
        new = c.leader("lock", other_than=[old])
        c.heal()
        self.wait_for(lambda: set(c.leaders("lock")) <= {new} or
                      len(c.leaders("lock")) == 1)
        c.await_answers(c.names)

    def test_one_way(self):
        """A leader whose words do not reach the others is replaced, though it
        hears them."""
        c = self.network(3)
        old = c.leader("lock")
        for other in c.names:
            if other != old:
                c.cut(old, other)
        new = c.leader("lock", other_than=[old])
        c.heal()
        self.wait_for(lambda: len(c.leaders("lock")) == 1)
        self.assertNotEqual(new, old)

    def test_unauthenticated(self):
        """A peer without the key gets a closed connection, and is logged
        once."""
        c = self.network(1)
        for _ in range(5):
            done = subprocess.run(
                ["python3", "-c",
                 "import socket; s = socket.create_connection(('%s', 7400)); "
                 "s.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n' * 10); "
                 "print(len(s.recv(100)))" % c.host("n1")],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
            self.assertIn(done.stdout, (b"0\n", b""))
        lines = [l for l in c.log("n1").splitlines() if "refused" in l]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("bad magic", lines[0])


if __name__ == "__main__":
    main()

"""Locks in a real ZooKeeper, started here.

    python3 tests/engines/zookeeper.py QUARRY [unittest arguments]
"""

import os
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lock_services  # noqa: E402
from lock_services import Server, free_ports  # noqa: E402

CLASS_PATH = "/usr/share/java/zookeeper.jar:/usr/share/java/*"

SETTINGS = """
tickTime=500
initLimit=20
syncLimit=4
dataDir={data}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
maxClientCnxns=0
4lw.commands.whitelist=*
"""


class ZooKeeperTest(lock_services.LockServiceTest):
    scheme = "zookeeper"

    def start_servers(self, count):
        ports = free_ports(3 * count)
        peers = "".join(
            "server.%d=127.0.0.1:%d:%d\n" % (i + 1, ports[count + i],
                                             ports[2 * count + i])
            for i in range(count)) if count > 1 else ""
        servers = []
        for i in range(count):
            at = os.path.join(self.dir, "zk%d" % (i + 1))
            os.makedirs(os.path.join(at, "data"))
            with open(os.path.join(at, "data", "myid"), "w") as f:
                f.write("%d\n" % (i + 1))
            conf = os.path.join(at, "zoo.cfg")
            with open(conf, "w") as f:
                f.write(SETTINGS.format(data=os.path.join(at, "data"),
                                        port=ports[i]) + peers)
            s = Server(["java", "-Xmx256m", "-cp", CLASS_PATH,
                        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                        conf], ports[i], os.path.join(at, "log"))
            self.addCleanup(s.end)
            s.start()
            servers.append(s)
        for s in servers:
            s.wait()
        deadline = time.monotonic() + 60
        while not all("Mode" in self.ask(s) for s in servers):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        return servers

    @staticmethod
    def ask(server):
        try:
            with socket.create_connection(("127.0.0.1", server.port), 2) as s:
                s.sendall(b"srvr")
                return s.makefile().read()
        except OSError:
            return ""

    def find_leader(self, servers):
        for s in servers:
            if "Mode: leader" in self.ask(s):
                return s
        self.fail("none leads")

    def test_authentication(self):
        """Values made with credentials are out of reach without them."""
        [s] = self.start_servers(1)
        auth = os.path.join(self.dir, "auth")
        with open(auth, "w") as f:
            f.write("quarry:secret\n")
        service = self.service([s.port])
        self.suite(service + "?auth=" + auth, "all")
        with self.assertRaisesRegex(AssertionError, "not authenticated"):
            self.suite(service, "all")


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main(verbosity=2)

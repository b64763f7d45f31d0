"""The logs of real servers: their levels change while they run, and as JSON every line is an
object."""

import json
import os
import signal

from processes import ClusterTest, main


class LogLevelsTest(ClusterTest):
    def lines(self, cluster):
        with open(os.path.join(cluster.dir("n1"), "log"), errors="replace") as f:
            return f.read().splitlines()

    def target(self, cluster):
        return ["-t", "cluster:" + os.path.join(self.dir, cluster.data)]

    def noted(self, cluster):
        """Lines about SIGHUP, an event of level INFO of the component server."""
        return [line for line in self.lines(cluster) if "read again" in line]

    def test_levels(self):
        """Events below the level of their component are not logged from then on, and are
        again once the level is back. A wrong level changes nothing."""
        c = self.loopback(1)
        t = self.target(c)
        self.assertEqual([n["levels"] for n in self.json("log-level", *t)], ["info"])
        self.assertEqual(self.json("log-level", "server=error,rpc=debug", *t)[0]["levels"],
                         "info,server=error,rpc=debug")
        os.kill(c.pid("n1"), signal.SIGHUP)
        self.assertIn("loud", self.fails(1, "log-level", "server=loud", *t))
        self.ok("table", "create", "quiet", "--family", "f", *t)
        self.wait_for(lambda: any("table_create" in line for line in self.lines(c)))
        self.assertEqual(self.noted(c), [])
        self.assertEqual(self.json("log-level", "server=default", *t)[0]["levels"],
                         "info,rpc=debug")
        os.kill(c.pid("n1"), signal.SIGHUP)
        self.wait_for(lambda: self.noted(c))

    def test_json(self):
        """Every line of a server with log-format = json is one object."""
        c = self.loopback(1, settings="log-format = json\n")
        c.leader("lock")
        lines = self.lines(c)
        self.assertGreater(len(lines), 3)
        for line in lines:
            event = json.loads(line)
            self.assertEqual(list(event)[:3], ["time", "level", "component"])
            self.assertIn(event["level"], ("debug", "info", "warn", "error"))
            self.assertTrue(event["message"])


if __name__ == "__main__":
    main()

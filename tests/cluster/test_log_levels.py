"""The logs of real servers: their levels change while they run, and as JSON every line is an
object."""

import http.client
import json
import os
import re
import signal

from grpc import Caller
from processes import ALL_ROLES, SECONDS, ClusterTest, main

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
# Lines of these belong to calls in what the test below does.
OF_CALLS = {"chunk", "gfs", "lock", "namenode", "server"}
SMALL = "[tablet]\nlog-segment = 1MiB\n"


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
                         "info,rpc=debug,server=error")
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

    def components(self):
        """Those of the table."""
        with open(os.path.join(ROOT, "base/runtime/log_components.def")) as f:
            return set(re.findall(r'LOG_COMPONENT\("([a-z-]+)"', f.read()))

    def settings(self, node, *t):
        document = json.loads(self.ok("monitor", "config", "node=" + node, *t))
        return {s["name"]: s for s in document["nodes"][0]["settings"]}

    def test_environment(self):
        """$QUARRY_LOG and $QUARRY_LOG_FORMAT beat the file, options beat them; wrong ones are
        named."""
        self.env["QUARRY_LOG"] = "warn,server=debug"
        self.env["QUARRY_LOG_FORMAT"] = "json"
        c = self.loopback(1, settings="log-level = error,rpc=info\nlog-format = text\n")
        t = self.target(c)
        self.assertEqual(self.json("log-level", *t)[0]["levels"], "warn,server=debug")
        events = [json.loads(line) for line in self.lines(c)]
        self.assertEqual({e["component"] for e in events if e["level"] in ("debug", "info")},
                         {"server"})
        settings = self.settings("n1", *t)
        for name, value, variable in (("log-level", "warn,server=debug", "QUARRY_LOG"),
                                      ("log-format", "json", "QUARRY_LOG_FORMAT")):
            s = settings["server." + name]
            self.assertEqual((s["value"], s["origin"], s["where"]),
                             (value, "environment", variable))
        for args, env, parts in (
                ((), {"QUARRY_LOG": "loud"}, ("$QUARRY_LOG", '"loud"')),
                ((), {"QUARRY_LOG": "nobody=debug"}, ("$QUARRY_LOG", "attempt, chunk, ")),
                ((), {"QUARRY_LOG_FORMAT": "xml"}, ("$QUARRY_LOG_FORMAT", "text or json")),
                (("--log-level", "rcp=debug"), {}, ('"rcp"', "replica, rpc, sandbox"))):
            before = dict(self.env)
            self.env.update(env)
            said = self.fails(1, "server", "--data", self.path("none"), *args)
            for part in parts:
                self.assertIn(part, said)
            self.assertEqual("$" in said, not args, said)
            self.env = before
        said = self.fails(1, "log-level", "nobody=debug", *t)
        self.assertIn("attempt, chunk, ", said)

    def events(self, cluster):
        """Of all nodes: each line is one object of JSON."""
        found = []
        for name in cluster.names:
            for line in cluster.log(name).splitlines():
                event = json.loads(line)
                self.assertEqual(list(event)[:3], ["time", "level", "component"])
                found.append(event)
        return found

    def run_everything(self, cluster, *t):
        """Something for each component."""
        self.ok("table", "create", "web", "--family", "f", *t)
        rows = "".join(json.dumps({"id": "r%05d" % i, "q": os.urandom(500).hex()}) + "\n"
                       for i in range(3000))
        self.write("rows.jsonl", rows)
        self.ok("import", "jsonl", "rows.jsonl", "--into", "web", "--family", "f", "--key", "id",
                *t)
        self.ok("table", "split", "web", "r01500", *t)
        self.ok("table", "compact", "web", *t)
        self.write("count.szl", "o: table sum of int;\nr: Row = input;\nemit o <- 1;\n")
        self.ok("saw", "count.szl", "--table", "web", *t)
        self.ok("table", "create", "kept", "--family", "f", "--changes", "1d", *t)
        self.ok("view", "create", "total", "AS", "count.szl", "--table", "kept", *t)
        self.wait_for(lambda: any("view/total" in cluster.log(n) for n in cluster.names))
        self.ok("follow", "pause", "view/total", *t)
        # Before its host is killed below.
        self.wait_for(lambda: any("released follower=view/total" in cluster.log(n)
                                  for n in cluster.names))
        self.write("in", "a\nb\n")
        self.ok("fs", "put", "in", "/in", *t)
        self.ok("job", "run", "--mapper", "cat", "-i", "file:/in", "-o", "file:/out", *t)
        self.ok("lock", "put", "/held", "x", *t)
        self.ok("lock", "hold", "/held", "true", *t)
        with open(os.path.join(cluster.dir("n2"), "server.conf")) as f:
            at = re.search(r"(?m)^console = (.*)$", f.read()).group(1)
        console = http.client.HTTPConnection(at, timeout=SECONDS)
        console.request("GET", "/nodes%22.json?limit=1")
        console.getresponse().read()
        console.close()
        self.ok("monitor", "calls", *t)

    def call_gateway(self, cluster):
        def address():
            return re.search(r"serving address=(\S+) ", cluster.log("n2"))
        caller = Caller(self.wait_for(address).group(1))
        caller.call("/grpc.health.v1.Health/Check", b"")
        caller.close()

    def test_components(self):
        """Each component can be set to debug at run time, and then reports what it does; lines of
        calls have their request; lines are objects of JSON, whatever they are about."""
        self.env["QUARRY_LOG_FORMAT"] = "json"
        c = self.loopback(3, ALL_ROLES + ",follow,gateway",
                          settings="bigtable-api = 127.0.0.1:0\n" + SMALL)
        t = self.target(c)
        names = self.components()
        self.assertEqual({row["component"] for row in self.json("log-level", "--components")},
                         names)
        self.assertEqual([e for e in self.events(c) if e["level"] == "debug"], [])
        for name in sorted(names):
            self.ok("log-level", name + "=debug", *t)
        self.run_everything(c, *t)
        self.call_gateway(c)
        c.kill(c.leader("lock"))

        def told():
            return {e["component"] for e in self.events(c) if e["level"] == "debug"}
        self.wait_to_see(lambda: sorted(names - told()), lambda missing: not missing)
        of_calls = {e["component"] for e in self.events(c)
                    if e["level"] == "debug" and e.get("request")}
        self.assertEqual(OF_CALLS - of_calls, set())


if __name__ == "__main__":
    main()

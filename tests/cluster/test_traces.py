"""Traces of real servers: a put through the public API with a traceparent yields a tree over
gateway, tablet server, log and chunk servers, and a call that was slow is found afterwards though
nobody asked for it."""

import json
import os
import re

from grpc import Caller, Refused, field
from processes import SECONDS, ClusterTest, free_ports, main

DATA = "/google.bigtable.v2.Bigtable/"
TABLE = b"projects/p/instances/quarry/tables/web"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class TracesTest(ClusterTest):
    def target(self, cluster):
        return ["-t", "cluster:" + os.path.join(self.dir, cluster.data)]

    def document(self, *words):
        """A document of the monitor, or None while there is none."""
        done = self.run_quarry("monitor", *words)
        if done.returncode:
            return None
        return json.loads(done.stdout)

    def names(self, spans):
        return {s["name"] for s in spans}

    def check_tree(self, spans):
        """Children follow their parents and are within their time."""
        seen = {}
        for s in spans:
            parent = seen.get(s.get("parent"))
            self.assertEqual(s["depth"], parent["depth"] + 1 if parent else 0)
            if parent and parent["node"] != s["node"]:
                self.assertGreaterEqual(s["begun_at_us"], parent["begun_at_us"])
            seen[s["id"]] = s

    def test_tree(self):
        """The tree of a put, by the trace that its caller gave, with its parent; the answer names
        the trace; a command with --trace prints an id that leads to its spans."""
        api = "127.0.0.1:%d" % free_ports(1)[0]
        c = self.loopback(1, roles="lock,namenode,chunk,tablet,master,worker,jobs,gateway",
                          settings="bigtable-api = %s\ntrace-sample = 0\n" % api)
        t = self.target(c)
        self.ok("table", "create", "web", "--family", "f", *t)
        cell = field(1, b"f") + field(2, b"q") + field(3, 1000) + field(4, b"v")
        write = field(1, TABLE) + field(2, b"row") + field(3, field(1, cell))

        def put():
            try:
                caller = Caller(api)
            except (Refused, OSError):
                return False
            try:
                status, _ = caller.call(DATA + "MutateRow", write, (
                    ("traceparent", "00-%s-%s-01" % (TRACE, PARENT)),
                    ("tracestate", "vendor=17")))
            except Refused:
                return False
            finally:
                caller.close()
            return status == 0
        self.wait_for(put, SECONDS)

        def spans():
            return (self.document("trace", "id=" + TRACE, *t) or {}).get("spans", [])
        self.wait_for(lambda: {"tablet.apply", "log sync", "segment sync", "chunk.write",
                               "append and sync"} <= self.names(spans()))
        found = spans()
        self.check_tree(found)
        root = found[0]
        self.assertEqual(root["parent"], PARENT)
        self.assertEqual(root["name"], "google.bigtable.v2.Bigtable/MutateRow")
        self.assertEqual(root["attributes"]["tracestate"], "vendor=17")
        apply = next(s for s in found if s["name"] == "tablet.apply" and s["kind"] == "server")
        self.assertEqual(apply["attributes"]["table"], "web")
        self.assertEqual(apply["attributes"]["rows"], 1)
        text = self.ok("trace", TRACE, *t)
        self.assertIn("append and sync", text)
        self.assertIn("ID: its id has 32", self.fails(1, "trace", "ID", *t)
                      .replace('trace "ID"', "ID"))
        done = self.run_quarry("get", "web", "row", "--trace", *t)
        self.assertEqual(done.returncode, 0)
        trace = re.search("trace ([0-9a-f]{32})", done.stderr.decode()).group(1)
        self.wait_for(lambda: self.run_quarry("trace", trace, *t).returncode == 0)
        self.assertIn("tablet.read", self.ok("trace", trace, *t))

    def test_settings(self):
        """Servers keep more or less from now on when they are told so."""
        c = self.loopback(1)
        t = self.target(c)
        first = self.json("trace", *t)[0]
        self.assertEqual((first["sample"], first["slow_us"]), (1000, 1000000))
        self.ok("trace", "--sample", "1", *t)
        self.ok("trace", "--slow", "20ms", *t)
        now = self.json("trace", *t)[0]
        self.assertEqual((now["sample"], now["slow_us"]), (1, 20000))
        self.ok("table", "create", "web", "--family", "f", *t)
        self.wait_for(lambda: "master.create_table" in self.ok("monitor", "calls", *t))
        self.fails(2, "trace", "--slow", "soon", *t)


if __name__ == "__main__":
    main()

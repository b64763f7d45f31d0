"""Documents about a cluster of real processes: they are true within seconds, also while a node is
dead or stopped, and their sums are those of other commands."""

import json
import time

from processes import SECONDS, ClusterTest, main

TARGET = ("-t", "cluster:quarry-cluster")
ROWS = 200


class MonitorTest(ClusterTest):
    def document(self, *words):
        return json.loads(self.ok("monitor", *words, *TARGET))

    def until(self, what, fn, seconds=SECONDS):
        """Call fn() until it returns something true, which is returned."""
        begun = time.monotonic()
        while True:
            got = fn()
            if got:
                return got
            self.assertLess(time.monotonic() - begun, seconds, "no " + what)
            time.sleep(0.3)

    def nodes(self):
        return {n["name"]: n for n in self.document("nodes")["nodes"]}

    def fill(self, table):
        """A table in four tablets, with rows."""
        self.ok("table", "create", table, "--family", "f", "--family", "g",
                *TARGET)
        for row in ("e", "m", "t"):
            self.ok("table", "split", table, row, *TARGET)
        lines = "".join(
            json.dumps({"id": "%s%03d" % ("ahpz"[i % 4], i), "q": "v" * 100}) + "\n"
            for i in range(ROWS))
        path = self.path("rows.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(lines)
        self.ok("import", "jsonl", path, "--into", table, "--family", "f", "--key",
                "id", *TARGET)

    def test_documents(self):
        """Nodes, tables, tablets and settings are told as they are; sums of `tables` and `table`
        are those of `quarry table tablets`."""
        c = self.loopback(3)
        self.fill("web")
        self.ok("table", "compact", "web", *TARGET)
        doc = self.document("nodes")
        self.assertEqual(doc["warnings"], [])
        nodes = {n["name"]: n for n in doc["nodes"]}
        self.assertEqual(sorted(nodes), ["n1", "n2", "n3"])
        for name, n in nodes.items():
            self.assertEqual(n["state"], "up")
            self.assertEqual(n["pid"], c.pid(name))
            self.assertLess(abs(n["clock_offset_us"]), 1000000)
            self.assertGreater(n["rss_bytes"], 1 << 20)
            self.assertLess(n["fds"], n["fds_max"])
            self.assertLessEqual(n["disk_used_bytes"], n["disk_size_bytes"])
            self.assertLessEqual({"lock", "chunk", "tablet"},
                                 {r["name"] for r in n["roles"]})
        table = self.document("table", "name=web")
        told = self.json("table", "tablets", "web", *TARGET)
        self.assertEqual(
            [(t["start"], t["end"], t["server"], t["bytes"]) for t in table["tablets"]],
            [(t["start"], t["end"], t["server"], t["bytes"]) for t in told])
        self.assertEqual([f["name"] for f in table["schema"]["families"]], ["f", "g"])
        row, = self.document("tables")["tables"]
        self.assertEqual((row["name"], row["tablets"], row["state"]), ("web", 4, "well"))
        self.assertEqual(row["bytes"], sum(t["bytes"] for t in told))
        self.assertGreater(row["bytes"], 0)
        self.assertEqual({t["node"] for t in table["tablets"]} - set(nodes), set())
        for t in table["tablets"]:
            self.assertLess(abs(t["loaded_at_us"] / 1e6 - time.time()), 3600)
        tablet = self.document("tablet", "table=web", "start=h")
        self.assertEqual((tablet["start"], tablet["end"]), ("e", "m"))
        self.assertGreater(sum(f["bytes"] for f in tablet["files"]), 0)
        for f in tablet["files"]:
            self.assertLessEqual(f["smallest"], f["largest"])
        self.assertIn("split", [e["text"] for e in tablet["events"]])
        two = self.document("table", "name=web", "limit=2")
        self.assertEqual([t["start"] for t in two["tablets"]], ["", "e"])
        self.assertIn("after=e", " ".join(two["warnings"]))
        rest = self.document("table", "name=web", "after=e")
        self.assertEqual([t["start"] for t in rest["tablets"]], ["m", "t"])
        self.assertIn("no table", self.fails(1, "monitor", "table", "name=wob", *TARGET))
        config = self.document("config", "node=n2")["nodes"][0]["settings"]
        settings = {s["name"]: s for s in config}
        self.assertEqual(settings["server.name"]["value"], "n2")
        self.assertEqual(settings["server.name"]["origin"], "file")
        self.assertIn("server.conf:", settings["server.name"]["where"])
        self.assertEqual(settings["tablet.log"]["origin"], "default")
        with open(self.path("quarry-cluster/key"), encoding="utf-8") as f:
            self.assertNotIn(f.read().strip(), json.dumps(config))

    def test_a_node_dies(self):
        """A killed node is down and a stopped one silent, with why, within seconds; the overview
        says so; the tablets are served elsewhere, and the document says that too."""
        c = self.loopback(3)
        self.fill("web")
        overview = self.until("leaders", lambda: [
            d for d in [self.document("overview")] if len(d["leaders"]) == 4])[0]
        self.assertEqual(overview["nodes"], {"up": 3, "total": 3})
        self.assertEqual(sorted(overview["leaders"]), ["jobs", "lock", "master", "namenode"])
        self.assertEqual((overview["tables"], overview["tablets"]), (1, 4))
        victim = self.document("table", "name=web")["tablets"][0]["node"]
        at = [n["address"] for n in self.nodes().values() if n["name"] == victim][0]
        c.kill(victim)
        # A command has not known the node before: its address is its name.
        gone = self.nodes()[at]
        self.assertEqual(gone["state"], "down")
        self.assertIn("refused", gone["why"])
        doc = self.until("finding", lambda: [
            d for d in [self.document("overview")]
            if "does not answer" in json.dumps(d["findings"])])[0]
        self.assertEqual(doc["nodes"], {"up": 2, "total": 3})
        self.assertEqual(doc["state"], "failing")
        self.assertTrue([w for w in doc["warnings"] if at in w])
        self.until("all rows served", lambda: [
            t for t in [self.document("table", "name=web")]
            if len(t["tablets"]) == 4 and
            {x.get("node") for x in t["tablets"]} <= set(c.names) - {victim}])
        self.assertEqual(self.document("tables")["tables"][0]["state"], "well")
        c.start(victim)
        other = [n for n in c.names if n != victim][0]
        at = self.nodes()[other]["address"]
        c.pause(other)
        try:
            begun = time.monotonic()
            stopped = self.nodes()[at]
            self.assertLess(time.monotonic() - begun, 60)
            self.assertEqual(stopped["state"], "silent")
            self.assertNotEqual(stopped["why"], "")
        finally:
            c.resume(other)


main()

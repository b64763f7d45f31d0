"""The dashboard for Grafana: its JSON is what Grafana imports, and a real Prometheus that scrapes a
cluster at work has data for every query, with the labels that legends name. Grafana itself is not
packaged by Debian, so that nobody draws it here."""

import json
import math
import os
import re
import time

import prometheus
from grpc import Caller, field
from processes import ALL_ROLES, SECONDS, ClusterTest, main

COLUMNS = 24
# Panels and units that the dashboard uses, as Grafana 9 and later name them.
KINDS = {"row", "stat", "timeseries"}
UNITS = {"none", "ops", "bytes", "s", "percentunit", "Bps"}
CALCULATIONS = {"lastNotNull", "last", "max", "mean", "sum"}
COLORS = re.compile(r"^(#[0-9a-f]{6}|(dark-|light-|semi-dark-|super-light-)?"
                    r"(green|yellow|orange|red|blue|purple)|text|transparent)$")
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
TABLE = "projects/p/instances/i/tables/web"


def board():
    with open(os.path.join(prometheus.CONTRIB, "quarry-dashboard.json")) as f:
        return json.load(f)


class DashboardTest(ClusterTest):
    # --- the document

    def check_place(self, panel, taken):
        """Within the grid, and on nothing else."""
        at = panel["gridPos"]
        self.assertEqual(set(at), {"h", "w", "x", "y"})
        self.assertTrue(at["w"] > 0 and at["h"] > 0 and at["x"] >= 0 and at["y"] >= 0, panel)
        self.assertLessEqual(at["x"] + at["w"], COLUMNS, panel["title"])
        for y in range(at["y"], at["y"] + at["h"]):
            for x in range(at["x"], at["x"] + at["w"]):
                self.assertNotIn((x, y), taken, "%s lies on %s" % (
                    panel["title"], taken.get((x, y))))
                taken[x, y] = panel["title"]

    def check_field_config(self, panel):
        defaults = panel["fieldConfig"]["defaults"]
        self.assertIn(defaults["unit"], UNITS)
        self.assertIsInstance(panel["fieldConfig"]["overrides"], list)
        steps = defaults.get("thresholds", {}).get("steps", [])
        if steps:
            self.assertIsNone(steps[0]["value"])
            values = [s["value"] for s in steps[1:]]
            self.assertEqual(values, sorted(values))
            for step in steps:
                self.assertRegex(step["color"], COLORS)
        calcs = panel.get("options", {}).get("reduceOptions", {}).get("calcs", [])
        self.assertTrue(set(calcs) <= CALCULATIONS)

    def check_targets(self, panel, variables):
        self.assertEqual(panel["datasource"], SOURCE)
        self.assertTrue(panel["targets"], panel["title"])
        ids = [t["refId"] for t in panel["targets"]]
        self.assertEqual(len(ids), len(set(ids)), panel["title"])
        for target in panel["targets"]:
            self.assertEqual(target["datasource"], SOURCE)
            used = set(re.findall(r"\$\{?(\w+)", target["expr"]))
            self.assertTrue(used <= variables, target["expr"])

    def test_document(self):
        """A version that Grafana migrates from, a data source that is chosen, panels with ids and
        places of their own, queries that name variables there are."""
        doc = board()
        self.assertGreaterEqual(doc["schemaVersion"], 36)
        self.assertNotIn("id", doc)  # Grafana gives it; the uid is ours.
        self.assertRegex(doc["uid"], r"^[\w-]{1,40}$")
        self.assertTrue(doc["title"])
        self.assertEqual(doc["annotations"], {"list": []})
        self.assertNotIn("__inputs", doc)
        variables = {v["name"]: v for v in doc["templating"]["list"]}
        self.assertEqual((variables["datasource"]["type"], variables["datasource"]["query"]),
                         ("datasource", "prometheus"))
        self.assertEqual(variables["instance"]["datasource"], SOURCE)
        ids = [p["id"] for p in doc["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        taken = {}
        for panel in doc["panels"]:
            self.assertIn(panel["type"], KINDS)
            self.assertTrue(panel["title"])
            self.check_place(panel, taken)
            if panel["type"] == "row":
                self.assertEqual((panel["collapsed"], panel["panels"]), (False, []))
            else:
                self.check_field_config(panel)
                self.check_targets(panel, set(variables))

    # --- its data

    def call_api(self):
        """A row is asked for through the public API."""
        def address():
            return re.search(r"serving address=(\S+) ", self.cluster.log("n1"))
        caller = Caller(self.wait_for(address).group(1))
        caller.call("/google.bigtable.v2.Bigtable/ReadRows", field(1, TABLE.encode()))
        caller.close()

    def work(self):
        """A bit of everything that panels show."""
        t = ("-t", "cluster:quarry-cluster")
        self.ok("shell", *t, stdin="".join(
            "put web row%d f:q=v\nget web row%d\n" % (i, i) for i in range(20)))
        self.ok("scan", "web", *t)
        self.ok("table", "compact", "web", *t)
        self.ok("shell", *t, stdin="get web row1\n" * 10)
        self.fails(1, "get", "web", "none", *t)
        self.ok("saw", "-e", "r: Row = input; c: table sum of int; emit c <- 1;", "--table", "web",
                *t)
        self.fails(1, "fs", "stat", "/nothing", *t)
        self.call_api()

    def answers(self, query):
        """The samples of a query that are numbers."""
        answer = self.ask("query", query=query.replace("$instance", ".*"))
        return [s for s in answer["result"] if math.isfinite(float(s["value"][1]))] \
            if answer else []

    def lacking(self):
        """Queries that have no number, and legends that name a label that no sample has."""
        out = []
        for panel in board()["panels"]:
            for target in panel.get("targets", []):
                found = self.answers(target["expr"])
                labels = set(re.findall(r"{{\s*(\w+)\s*}}", target.get("legendFormat", "")))
                if not any(labels <= set(s["metric"]) for s in found):
                    out.append("%s: %s: %s" % (panel["title"], target["expr"], labels))
        return out

    def test_data(self):
        """Each query has numbers, and each legend its labels, of a cluster that is used."""
        prometheus.need(self, "prometheus")
        self.cluster = c = self.loopback(3, ALL_ROLES + ",gateway",
                                         settings="bigtable-api = 127.0.0.1:0\n")
        addresses = []
        for name in c.names:
            with open(c.dir(name) + "/server.conf") as f:
                addresses.append(re.search(r"^console = (.*)$", f.read(), re.M).group(1))
        c.leader("lock")
        self.ask = prometheus.start(self, addresses)
        self.ok("table", "create", "web", "--family", "f", "-t", "cluster:quarry-cluster")
        end = time.monotonic() + SECONDS
        missing = [""]
        while missing and time.monotonic() < end:
            self.work()
            missing = self.lacking()
        self.assertEqual(missing, [])
        # The choice of nodes.
        nodes = {s["metric"]["instance"] for s in self.answers("quarry_build_info")}
        self.assertEqual(nodes, set(addresses))


if __name__ == "__main__":
    main()

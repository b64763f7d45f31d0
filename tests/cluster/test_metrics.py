"""Metrics of real processes: read by promtool and by a real Prometheus, whole and true.

promtool and prometheus come with Debian's package `prometheus` (scripts/deps test); what needs
them is skipped, with a line that says so, where they are not installed.
"""

import os
import re
import subprocess
import urllib.request

import prometheus
from processes import SECONDS, ClusterTest, main

OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


class MetricsTest(ClusterTest):
    def address(self, cluster, name):
        with open(cluster.dir(name) + "/server.conf") as f:
            return re.search(r"^console = (.*)$", f.read(), re.M).group(1)

    def scrape(self, address, accept=None):
        request = urllib.request.Request("http://%s/metrics" % address)
        if accept:
            request.add_header("Accept", accept)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.headers["Content-Type"], answer.read().decode()

    def samples(self, address):
        out = {}
        for line in self.scrape(address)[1].splitlines():
            if line.startswith("#"):
                continue
            match = SAMPLE.match(line)
            self.assertTrue(match, line)
            key = match.group(1), tuple(LABEL.findall(match.group(2) or ""))
            self.assertNotIn(key, out)
            out[key] = float(match.group(3))
        return out

    def total(self, samples, name, **labels):
        return sum(v for (n, have), v in samples.items()
                   if n == name and labels.items() <= dict(have).items())

    def test_counts(self):
        """A call more is a call more, a row read is a row of its table."""
        c = self.loopback(1)
        c.leader("lock")
        at = self.address(c, "n1")
        before = self.samples(at)
        self.assertGreater(before["process_resident_memory_bytes", ()], 1 << 20)
        self.assertGreater(before["process_open_fds", ()], 3)
        self.assertEqual(self.total(before, "quarry_cell_leader", cell="lock"), 1)
        for _ in range(3):
            c.status()
        after = self.samples(at)
        for name in ("quarry_rpc_call_seconds_count", "quarry_rpc_call_seconds_bucket"):
            self.assertGreater(self.total(after, name, method="server.status"),
                               self.total(before, name, method="server.status") + 2)

    def test_negotiation(self):
        """OpenMetrics for those who ask for it, the older text for all others."""
        c = self.loopback(1)
        at = self.address(c, "n1")
        for accept, kind in (
                (None, TEXT), ("*/*", TEXT), ("text/plain", TEXT),
                ("application/openmetrics-text", OPEN),
                ("application/openmetrics-text;version=1.0.0,"
                 "application/openmetrics-text;version=0.0.1;q=0.75,"
                 "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPEN),
                ("application/openmetrics-text;q=0.3, text/plain;q=0.5", TEXT),
                ("application/openmetrics-text;q=0", TEXT)):
            got, text = self.scrape(at, accept)
            self.assertEqual(got, kind, accept)
            self.assertEqual(text.endswith("# EOF\n"), kind == OPEN)
            self.assertEqual("# UNIT " in text, kind == OPEN)

    def test_openmetrics_parser(self):
        """The reference parser reads the OpenMetrics text of a process, and finds the
        same names in it."""
        try:
            from prometheus_client.openmetrics.parser import \
                text_string_to_metric_families
        except ImportError:
            print("SKIPPED: %s: there is no python3-prometheus-client" % self.id(),
                  flush=True)
            self.skipTest("there is no python3-prometheus-client")
        c = self.loopback(1)
        text = self.scrape(self.address(c, "n1"), OPEN)[1]
        families = {f.name: f for f in text_string_to_metric_families(text)}
        self.assertEqual(families["quarry_rpc_received_bytes"].type, "counter")
        self.assertEqual(families["quarry_rpc_call_seconds"].type, "histogram")
        self.assertEqual(families["quarry_rpc_call_seconds"].unit, "seconds")

    def test_promtool(self):
        """promtool has nothing to say about the metrics of any process of a cluster that
        has done some work."""
        prometheus.need(self, "promtool")
        c = self.loopback(3)
        c.leader("lock")
        for name in ("n1", "n2", "n3"):
            text = self.scrape(self.address(c, name))[1]
            self.assertGreater(text.count("\n"), 300)
            r = subprocess.run(["promtool", "check", "metrics"], input=text,
                               capture_output=True, text=True, timeout=SECONDS, check=False)
            self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "", ""), name)

    def test_prometheus(self):
        """A real Prometheus scrapes every node of a cluster as OpenMetrics without an error,
        and loads the rules; one fires when a node dies."""
        prometheus.need(self, "prometheus")
        c = self.loopback(3)
        c.leader("lock")
        nodes = {name: self.address(c, name) for name in ("n1", "n2", "n3")}
        ask = prometheus.start(self, sorted(nodes.values()))

        def all_up():
            answer = ask("targets")
            up = answer and answer["activeTargets"]
            return up and len(up) == 3 and all(t["health"] == "up" for t in up)
        self.wait_for(all_up)
        for target in ask("targets")["activeTargets"]:
            self.assertEqual(target["lastError"], "")
        rules = [r for g in ask("rules")["groups"] for r in g["rules"]]
        self.assertGreater(len(rules), 20)
        self.wait_for(lambda: ask("query", query="sum(quarry_cell_leader)")["result"])
        kinds = ask("metadata")
        self.assertEqual(kinds["quarry_rpc_received_bytes"][0],
                         {"type": "counter", "unit": "bytes",
                          "help": "Bytes of connections that have ended, from their peers"})
        self.wait_for(lambda: all(
            r["health"] == "ok" for g in ask("rules")["groups"] for r in g["rules"]))
        c.kill("n3")

        def is_noticed():
            return any(a["labels"]["alertname"] == "QuarryNodeDown" and
                       a["labels"]["instance"] == nodes["n3"]
                       for a in ask("alerts")["alerts"])
        self.wait_for(is_noticed)

    def test_rules(self):
        """promtool finds the alert rules well made, and they fire when they should."""
        prometheus.need(self, "promtool")
        for words in (["check", "rules", "quarry.rules.yml"],
                      ["test", "rules", "quarry.rules.test.yml"]):
            r = subprocess.run(["promtool"] + words, cwd=prometheus.CONTRIB, capture_output=True,
                               text=True, timeout=SECONDS, check=False)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)

    def test_tables(self):
        """Reads and writes are counted by table, and the engine says what it wrote."""
        c = self.loopback(1)
        c.leader("lock")
        at = self.address(c, "n1")
        t = ["-t", "cluster:" + os.path.join(self.dir, c.data)]
        self.ok("table", "create", "web", "--family", "f", *t)
        self.ok("put", "web", "r", "f:q=v", *t)
        for _ in range(3):
            self.ok("get", "web", "r", *t)
        self.ok("scan", "web", *t)
        self.ok("table", "compact", "web", *t)
        s = self.samples(at)
        self.assertEqual(self.total(s, "quarry_tablet_written_rows_total", table="web"), 1)
        self.assertGreaterEqual(self.total(s, "quarry_tablet_read_rows_total", table="web"), 4)
        for name in ("read", "scan", "write"):
            self.assertGreaterEqual(
                self.total(s, "quarry_tablet_%s_seconds_count" % name, table="web"), 1, name)
        self.assertEqual(self.total(s, "quarry_tablet_tablets", table="web"), 1)
        self.assertGreater(self.total(s, "quarry_tablet_stored_bytes", table="web"), 0)
        self.assertGreater(self.total(s, "quarry_tablet_family_bytes", family="f"), 0)
        self.assertGreater(self.total(s, "quarry_engine_written_bytes_total"), 0)
        self.assertGreater(self.total(s, "quarry_engine_commit_sync_seconds_count"), 0)
        self.assertGreater(self.total(s, "quarry_engine_ingested_bytes_total"), 3)


if __name__ == "__main__":
    main()

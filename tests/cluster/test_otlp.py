"""Spans of a real server and of commands reach a receiver of OpenTelemetry's protocol, over HTTP
and HTTPS, with retries, and what it does not take is dropped and counted."""

import json
import os
import shutil
import subprocess

from otlp_receiver import Receiver
from processes import SECONDS, ClusterTest, main

SERVER, CLIENT = 2, 3


class OtlpTest(ClusterTest):
    def target(self, cluster):
        return ["-t", "cluster:" + os.path.join(self.dir, cluster.data)]

    def receiver(self, **how):
        r = Receiver(**how)
        self.addCleanup(r.close)
        return r

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def metric(self, t, name):
        document = json.loads(self.ok("monitor", "node", "name=n1", *t))
        found = [m["value"] for m in document["metrics"] if m["name"].startswith(name)]
        return found[0] if found else None

    def test_export(self):
        """A command's spans and the servers' are one tree at the receiver, which is told who they
        are of, in the paths, headers and compression that were asked for."""
        receiver = self.receiver(answers=[(503, {"Retry-After": "1"}, b""), (429, {}, b"")])
        headers = self.write("headers", "# of the receiver\nx-token: a, secret=1\n")
        c = self.loopback(1, settings="trace-export = %s\ntrace-export-headers = %s\n" % (
            receiver.url(), headers))
        t = self.target(c)
        self.ok("table", "create", "web", "--family", "f", *t)
        self.env.update({
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url() + "/",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
            "OTEL_SERVICE_NAME": "loader",
            "OTEL_RESOURCE_ATTRIBUTES": "team=web%20crawl,service.name=other"})
        self.ok("put", "web", "row", "f:q=v", *t)
        command = [(r, s) for r, s in receiver.spans if r["service.name"] == "loader"]
        root = next(s for _, s in command if s["name"] == "put")
        self.assertEqual((root["kind"], root["parent"], root["status"]), (CLIENT, "", 0))
        self.assertEqual(command[0][0]["team"], "web crawl")
        self.assertTrue(root["flags"] & 1)
        self.assertIn("tablet.apply", {s["name"] for _, s in command if s["kind"] == CLIENT})

        def tree():
            return [s for _, s in receiver.spans if s["trace"] == root["trace"]]
        self.wait_for(lambda: {"tablet.apply", "log sync", "chunk.write"} <=
                      {s["name"] for s in tree()}, SECONDS)
        ids = {s["id"] for s in tree()}
        for s in tree():
            self.assertTrue(s["id"] == root["id"] or s["parent"] in ids, s)
            self.assertGreaterEqual(s["end"], s["start"])
        resource, apply = next((r, s) for r, s in receiver.spans
                               if (s["name"], s["kind"]) == ("tablet.apply", SERVER) and
                               s["trace"] == root["trace"])
        self.assertEqual(resource["service.name"], "quarry")
        self.assertEqual(resource["service.instance.id"], "n1")
        self.assertEqual(apply["kind"], SERVER)
        self.assertEqual(apply["attributes"]["table"], "web")
        self.assertEqual(apply["attributes"]["rows"], 1)
        self.assertEqual(apply["attributes"]["rpc.system"], "quarry")
        with receiver.lock:
            self.assertEqual({p for p, _ in receiver.requests}, {"/v1/traces"})
            tokens = {h.get("x-token") for _, h in receiver.requests}
            kinds = {h["Content-Type"] for _, h in receiver.requests}
            packed = [h for _, h in receiver.requests if h.get("Content-Encoding") == "gzip"]
        self.assertEqual(tokens, {"a, secret=1", None})
        self.assertEqual(kinds, {"application/x-protobuf"})
        self.assertTrue(packed)
        self.wait_for(lambda: (self.metric(t, "quarry_trace_exported_spans") or 0) > 0, SECONDS)
        self.assertNotIn("secret=1", self.ok("monitor", "config", *t))

    def test_environment(self):
        """The environment samples and stops; a parent decides, unless the sampler ignores it. A
        receiver that is away costs a command seconds at most, and never its success."""
        receiver = self.receiver()
        c = self.loopback(1)
        t = self.target(c)
        self.ok("table", "create", "web", "--family", "f", *t)

        def exported(**variables):
            before = len(receiver.spans)
            old = dict(self.env)
            self.env.update(variables)
            done = self.run_quarry("put", "web", "row", "f:q=v", *t)
            self.env.clear()
            self.env.update(old)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            return receiver.spans[before:]

        def sampled(**variables):
            """Without spans that are sent because they took long."""
            return [x for x in exported(**variables)
                    if x[1]["attributes"].get("quarry.kept") != "slow"]
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"
        self.assertEqual(exported(), [])
        here = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.url() + "/v1/traces"}
        self.assertTrue(exported(**here))
        self.assertEqual(exported(OTEL_SDK_DISABLED="TRUE", **here), [])
        self.assertEqual(exported(OTEL_TRACES_EXPORTER="none", **here), [])
        self.assertEqual(sampled(OTEL_TRACES_SAMPLER="always_off", **here), [])
        self.assertEqual(sampled(OTEL_TRACES_SAMPLER="traceidratio",
                                 OTEL_TRACES_SAMPLER_ARG="0", **here), [])
        self.assertEqual(sampled(TRACEPARENT=parent + "0", **here), [])
        found = exported(TRACEPARENT=parent + "1", **here)
        self.assertEqual({s["trace"] for _, s in found}, {parent[3:35]})
        self.assertIn(parent[36:52], {s["parent"] for _, s in found})
        self.assertTrue(exported(TRACEPARENT=parent + "0", OTEL_TRACES_SAMPLER="always_on", **here))
        away = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
        self.assertEqual(exported(**away), [])
        self.assertEqual(exported(OTEL_EXPORTER_OTLP_ENDPOINT="nonsense"), [])

    def test_dropped(self):
        """Spans that a receiver refuses, or that find the queue full while it is away, are
        counted; calls do not wait."""
        receiver = self.receiver(answers=[(400, {}, b"")] * 1000)
        self.env["OTEL_BSP_SCHEDULE_DELAY"] = "100"
        c = self.loopback(1, settings="trace-export = %s\ntrace-sample = 1\n" % receiver.url())
        t = self.target(c)
        self.ok("table", "create", "web", "--family", "f", *t)
        self.wait_for(lambda: (self.metric(t, "quarry_trace_export_dropped_spans") or 0) > 0,
                      SECONDS)
        self.assertGreater(self.metric(t, "quarry_trace_export_failures"), 0)
        self.assertIn("spans not exported", c.log("n1"))
        with receiver.lock:
            receiver.answers.clear()
        self.wait_for(lambda: receiver.spans, SECONDS)
        self.wait_for(lambda: "spans are exported again" in c.log("n1"), SECONDS)

    def test_https(self):
        """A receiver with a certificate is believed if its authority is trusted, and not
        otherwise."""
        if not shutil.which("openssl"):
            self.skip("there is no openssl")
        key = os.path.join(self.dir, "r.key")
        certificate = os.path.join(self.dir, "r.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        receiver = self.receiver(certificate=certificate, key=key)
        c = self.loopback(1)
        t = self.target(c)
        self.ok("table", "create", "web", "--family", "f", *t)
        self.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url("localhost")
        self.ok("put", "web", "row", "f:q=v", *t)
        self.assertEqual(receiver.spans, [])
        self.env["OTEL_EXPORTER_OTLP_CERTIFICATE"] = certificate
        self.ok("put", "web", "row", "f:q=v", *t)
        self.assertIn("put", {s["name"] for _, s in receiver.spans})


if __name__ == "__main__":
    main()

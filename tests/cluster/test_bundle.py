"""quarry debug bundle: it has what a report of a bug needs, says what it has not, waits for a dead
node once, and no secret of the cluster or of its users is in it."""

import http.client
import json
import os
import re
import tarfile
import time
import uuid

from processes import SECONDS, ClusterTest, main

TARGET = "cluster:quarry-cluster"
ROW = "rowthatisnamed"
PEM = "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n"


class BundleTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.secrets = {}

    def secret(self, where):
        """A new one, to be planted at @where."""
        self.secrets[where] = uuid.uuid4().hex + uuid.uuid4().hex
        return self.secrets[where]

    def secret_file(self, where):
        self.write(where, self.secret(where) + "\n")
        os.chmod(self.path(where), 0o600)
        return self.path(where)

    def bundle(self, *args):
        """Pack; returns {name: bytes} of its entries, and what was printed."""
        done = self.run_quarry("debug", "bundle", "-o", "b.tar.gz", *args)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertEqual(os.stat(self.path("b.tar.gz")).st_mode & 0o777, 0o600)
        entries = {}
        with tarfile.open(self.path("b.tar.gz")) as archive:
            for member in archive:
                self.assertTrue(member.isfile())
                top, name = member.name.split("/", 1)
                self.assertEqual(top, "quarry-bundle")
                self.assertNotIn(name, entries)
                entries[name] = archive.extractfile(member).read()
        self.check_list(entries)
        return entries, done.stdout.decode() + done.stderr.decode()

    def check_list(self, entries):
        """MANIFEST names every other entry with its length."""
        listed = re.findall(r"(?m)^ *(\d+)  (\S+)$", entries["MANIFEST"].decode())
        self.assertEqual({(name, int(size)) for size, name in listed},
                         {(name, len(text)) for name, text in entries.items()
                          if name != "MANIFEST"})

    def check_secrets(self, entries):
        for where, secret in self.secrets.items():
            for name, text in entries.items():
                self.assertNotIn(secret.encode(), text, "%s in %s" % (where, name))

    def json_entries(self, entries):
        return {name: json.loads(text) for name, text in entries.items()
                if name.endswith(".json")}

    def use_console(self, c, token):
        """Ask with the right token and with a wrong one."""
        with open(os.path.join(c.dir("n1"), "server.conf")) as f:
            at = re.search(r"(?m)^console = (.*)$", f.read()).group(1)
        for headers, status in (({"Authorization": "Bearer " + token}, 200),
                                ({"Authorization": "Bearer " + self.secret("wrong")}, 401),
                                ({"Cookie": "session=" + self.secret("cookie")}, 401)):
            http_ = http.client.HTTPConnection(at, timeout=SECONDS)
            http_.request("GET", "/nodes.json", headers=headers)
            answer = http_.getresponse()
            answer.read()
            self.assertEqual(answer.status, status)
            http_.close()

    def plant_in_log(self, c, name):
        """Lines that a defect could have written to a log."""
        with open(os.path.join(c.dir(name), "log"), "a") as f:
            f.write("2026-01-31T09:00:00Z WARN rpc marker-of-%s\n" % name)
            for form in ("Authorization: Bearer %s", "authorization=\"Basic %s\"",
                         "password=%s", "\"client_secret\": \"%s\"", "api_key: %s",
                         "Set-Cookie: id=%s", "https://user:%s@example.org/",
                         "eyJhbGciOiJIUzI1NiJ9.%s.abc", PEM,
                         PEM.replace("\n", "\\x0a").replace("%s", "%s")):
                f.write("2026-01-31T09:00:00Z WARN rpc refused " +
                        form % self.secret("log of %s: %s" % (name, form)) + "\n")
            # The cluster's own key, wherever it slipped in.
            f.write("2026-01-31T09:00:00Z WARN rpc saw %s\n" % self.secrets["key"])

    def plant_in_cluster(self, c):
        """In cells, files, locks and a job that fails."""
        t = ("-t", TARGET)
        self.ok("table", "create", "web", "--family", "f", *t)
        self.ok("table", "split", "web", ROW, *t)
        self.ok("put", "web", ROW, "f:q=" + self.secret("cell"), *t)
        self.ok("put", "web", "other", "f:q=" + self.secret("deleted cell"), *t)
        self.ok("delete", "web", "other", *t)
        self.write("file", self.secret("file"))
        self.ok("fs", "put", "file", "/file", *t)
        self.ok("lock", "put", "/note", self.secret("lock"), *t)
        done = self.run_quarry(
            "job", "run", "--mapper", "cat >&2; exit 3", "-i", "file:/file", "-o",
            "file:/out", *t)
        self.assertNotEqual(done.returncode, 0)
        with open(self.path("quarry-cluster/key")) as f:
            self.secrets["key"] = f.read().strip()

    def test_cluster(self):
        """Of three nodes one is dead: everything of the others is there, of the dead one its files
        and why there is no more; no planted secret is."""
        self.env["PLANTED_TOKEN"] = self.secret("environment")
        self.secrets["console token"] = token = self.ok(
            "token", "new", "--console", "view", "--file", self.path("tokens"), "wall").strip()
        c = self.loopback(3, settings="console-tokens = \"%s\"\n[encryption]\nkey-command = "
                                      "\"cat %s #%s\"\n" % (
                                          self.path("tokens"), self.secret_file("master"),
                                          self.secret("command")))
        self.plant_in_cluster(c)
        self.use_console(c, token)
        for name in c.names:
            self.plant_in_log(c, name)
        victim = [n for n in c.names if n != c.leader("lock")][0]
        c.kill(victim)
        self.wait_for(lambda: self.served() == ["", ROW])
        begun = time.monotonic()
        entries, said = self.bundle("-t", TARGET)
        print("packed in %.1f s" % (time.monotonic() - begun), flush=True)
        self.assertLess(time.monotonic() - begun, 100)
        self.check_secrets(entries)
        self.assertIn("refused", said)
        self.assertRegex(said, r"packed %d entries .* into b\.tar\.gz; \d+ part" % len(entries))
        up = [n for n in c.names if n != victim]
        for name in up:
            for text, part in (("status", "node=" + name), ("metrics", "# TYPE quarry_"),
                               ("fibers", "age"), ("peers", "principal"), ("calls", ""),
                               ("log", "marker-of-" + name)):
                self.assertIn(part, entries["nodes/%s/%s.txt" % (name, text)].decode())
        self.assertIn("marker-of-" + victim, entries["files/%s/log.txt" % victim].decode())
        self.assertIn("(left out)", entries["nodes/%s/log.txt" % up[0]].decode())
        documents = self.json_entries(entries)
        for subject in ("overview", "nodes", "tables", "table/web", "tablet/web", "jobs", "files",
                        "locks", "calls", "findings", "history", "config"):
            self.assertIn("at_us", documents["documents/%s.json" % subject], subject)
        self.assertTrue([n for n in documents if n.startswith("documents/job/")])
        settings = {s["name"]: s for s in documents["documents/config.json"]["nodes"][0]["settings"]}
        self.assertEqual(settings["server.name"]["origin"], "file")
        self.assertEqual(settings["encryption.key-command"]["value"], "(not shown)")
        self.assertIn("kernel: Linux", entries["machine.txt"].decode())
        self.assertIn(ROW, entries["documents/table/web.json"].decode())
        self.check_hashed(c)
        for text in ("fibers", "peers", "log", "calls", "metrics", "status"):
            done = self.run_quarry("debug", text, "-t", TARGET)
            self.assertEqual(done.returncode, 1)  # One node is dead.
            self.assertIn(b"== 127.0.0.1:", done.stdout)

    def served(self):
        """The first rows of the tablets that a server has."""
        table = json.loads(self.ok("monitor", "table", "name=web", "-t", TARGET))
        return [t["start"] for t in table["tablets"] if t["state"] == "serving"]

    def check_hashed(self, c):
        """With --no-keys no row key is in it, and equal keys have equal hashes."""
        entries, _ = self.bundle("--no-keys", "-t", TARGET)
        self.check_secrets(entries)
        for name, text in entries.items():
            self.assertNotIn(ROW.encode(), text, name)
        tablets = json.loads(entries["documents/table/web.json"])["tablets"]
        self.assertRegex(tablets[0]["end"], "^key-[0-9a-f]{16}$")
        self.assertEqual(tablets[0]["end"], tablets[1]["start"])

    def test_nobody_answers(self):
        """Of a cluster that is dead altogether, its files are packed."""
        c = self.loopback(1)
        c.kill("n1")
        self.env["QUARRY_TIMEOUT"] = "2s"
        entries, said = self.bundle("-t", TARGET)
        self.assertIn("files/n1/log.txt", entries)
        self.assertIn("documents and nodes: ", said)
        self.assertIn("documents and nodes: ", entries["MANIFEST"].decode())

    def test_directory(self):
        """An embedded store, also an encrypted one: manifest, files, schema and sizes, no cells and
        no keys."""
        key = self.secret_file("master")
        t = ("-t", "file:store", "--encryption-key", key)
        self.ok("table", "create", "web", "--family", "f", *t)
        self.ok("put", "web", ROW, "f:q=" + self.secret("flushed cell"), *t)
        self.ok("table", "split", "web", ROW, *t)
        self.ok("table", "compact", "web", *t)
        self.ok("put", "web", "next", "f:q=" + self.secret("cell in the log"), *t)
        entries, said = self.bundle(*t)
        self.check_secrets(entries)
        self.assertIn("nothing is missing", said)
        documents = self.json_entries(entries)
        self.assertEqual(documents["store/table/web/describe.json"][0]["families"][0]["family"], "f")
        self.assertGreater(sum(f["bytes"] or 0 for f in documents["store/manifest.json"]), 0)
        self.assertIn(ROW, json.dumps(documents["store/table/web/tablets.json"]))
        self.assertTrue([n for n in documents if n.startswith("store/log/")])
        self.assertEqual(documents["store/doctor.json"][0]["state"], "well")
        self.assertIn("store/CURRENT", entries["store/files.txt"].decode())
        hashed, _ = self.bundle("--no-keys", *t)
        for name, text in hashed.items():
            self.assertNotIn(ROW.encode(), text, name)
        locked, said = self.bundle("-t", "file:store")
        self.assertIn("store/files.txt", locked)
        self.assertIn("encrypt", said)
        self.assertIn("No such", self.fails(1, "debug", "bundle", "-t", "file:nowhere"))
        self.assertFalse([f for f in os.listdir(self.dir) if f.startswith("quarry-bundle")])


if __name__ == "__main__":
    main()

"""The console: what a browser, a scraper and a load balancer get."""

import json
import re
import socket
import urllib.error
import urllib.request

from processes import SECONDS, ClusterTest, main


class ConsoleTest(ClusterTest):
    def address(self, cluster, name):
        """Where the configuration says that the console of @name is."""
        with open(cluster.dir(name) + "/server.conf") as f:
            return re.search(r"^console = (.*)$", f.read(), re.M).group(1)

    def get(self, address, path):
        with urllib.request.urlopen("http://%s%s" % (address, path),
                                    timeout=SECONDS) as answer:
            return (answer.status, answer.headers["Content-Type"],
                    answer.read().decode())

    def page(self, address, path):
        """The type and text of a page, also of one that reports a failure."""
        try:
            return self.get(address, path)[1:]
        except urllib.error.HTTPError as e:
            return e.headers["Content-Type"], e.read().decode()

    def test_pages(self):
        """Every page is there, and tells what the commands tell."""
        c = self.loopback(1)
        c.leader("lock")
        at = self.address(c, "n1")
        kind, page = self.page(at, "/")
        self.assertEqual(kind, "text/html; charset=utf-8")
        self.assertIn('href="/nodes"', page)
        self.assertIn("lock: health=well", self.get(at, "/status")[2])
        self.assertIn("quarry_rpc_", self.get(at, "/vars")[2])
        for path in ("/fibers", "/peers", "/calls"):
            self.assertEqual(self.get(at, path)[0], 200)
        self.assertEqual(self.get(at, "/health")[2], "ok\n")
        with self.assertRaises(urllib.error.HTTPError) as e:
            self.get(at, "/nothing")
        self.assertEqual(e.exception.code, 404)
        self.assertIn("/metrics", e.exception.read().decode())

    def test_text(self):
        """The texts of the console have the metrics, too."""
        c = self.loopback(1)
        text = self.get(self.address(c, "n1"), "/vars")[2]
        self.assertRegex(text, r'(?m)^quarry_rpc_calls_total'
                               r'\{principal_class="cluster"\} \d+$')
        self.assertNotIn("_bucket", text)

    def answer(self, address, path, **headers):
        """Status, headers and text, also of a refusal."""
        q = urllib.request.Request(
            "http://%s%s" % (address, path),
            headers={k.replace("_", "-"): v for k, v in headers.items()})
        try:
            with urllib.request.urlopen(q, timeout=SECONDS) as a:
                return a.status, a.headers, a.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read().decode()

    def test_twins(self):
        """A page and its twin tell the same, and refuse the same."""
        c = self.loopback(1)
        at = self.address(c, "n1")
        doc = json.loads(self.get(at, "/nodes.json")[2])
        self.assertEqual([n["name"] for n in doc["nodes"]], ["n1"])
        self.assertIn("n1", self.get(at, "/nodes")[2])
        self.assertEqual(self.answer(at, "/nodes?sort=-name")[0], 200)
        self.assertEqual(self.answer(at, "/nodes.json?sort=-name")[0], 400)
        self.assertIn('href="/nodes.json"',
                      self.answer(at, "/nodes?sort=-name")[2])
        for path in ("/tables/no%3Ctable%3E", "/tables/no%3Ctable%3E.json"):
            status, _, text = self.answer(at, path)
            self.assertEqual(status, 404, path)
            self.assertNotIn("no<table>", text if path[-1] == "E" else "")
        for path in ("/a%zz", "/a%00", "/a?b=%ff", "/" + "x/" * 20):
            self.assertEqual(self.answer(at, path)[0], 400, path)
        self.assertEqual(self.answer(at, "/nodes", Host="evil.example")[0], 421)

    def test_assets(self):
        """Style and script come from here, and are kept until they change."""
        c = self.loopback(1)
        at = self.address(c, "n1")
        _, headers, page = self.answer(at, "/nodes")
        self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        self.assertNotRegex(page, r"(?i)<script>|<style|\son\w+=|style=")
        paths = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
        self.assertGreaterEqual(len(paths), 2)
        for path in paths:
            status, headers, _ = self.answer(at, path)
            self.assertEqual(status, 200, path)
            self.assertIn("immutable", headers["Cache-Control"])
            self.assertEqual(self.answer(at, path.split("?")[0],
                                         If_None_Match=headers["ETag"])[0],
                             304)

    def open_events(self, at, subject):
        """A socket that reads the stream, and what it says first."""
        host, port = at.split(":")
        s = socket.create_connection((host, int(port)), SECONDS)
        self.addCleanup(s.close)
        s.sendall(("GET /events?subject=%s HTTP/1.1\r\nHost: %s\r\n\r\n" %
                   (subject, at)).encode())
        return s, s.recv(12)

    def test_events(self):
        """A stream has a document, and another one when something changed."""
        c = self.loopback(1)
        at = self.address(c, "n1")
        s, _ = self.open_events(at, "nodes")
        with s.makefile("r", encoding="utf-8") as f:
            docs = []
            while len(docs) < 2:
                line = f.readline()
                self.assertTrue(line, "the stream has ended")
                if line.startswith("data: "):
                    docs.append(json.loads(line[len("data: "):]))
        self.assertGreater(docs[1]["at_us"], docs[0]["at_us"])
        self.assertEqual(self.answer(at, "/events?subject=nothing")[0], 404)

    def test_idle_streams(self):
        """Two hundred idle streams are refused beyond a few, and pages are
        still answered; the node stops with them open."""
        c = self.loopback(1)
        at = self.address(c, "n1")
        said = [self.open_events(at, "nodes")[1] for _ in range(200)]
        taken = said.count(b"HTTP/1.1 200")
        self.assertGreater(taken, 0)
        self.assertLessEqual(taken, 64)
        self.assertIn(b"HTTP/1.1 503", said)
        for _ in range(5):
            self.assertEqual(self.answer(at, "/health")[0], 200)
            self.assertEqual(self.answer(at, "/nodes.json")[0], 200)
        c.stop("n1")

    def test_jobs(self):
        """Every node shows a job and what a failed attempt of it wrote,
        whichever leads the jobs, and whether it has a worker; another user may
        not look into it."""
        c = self.loopback(3, "lock,namenode,chunk,tablet,master,jobs,worker")
        c.stop("n3")
        c.set_roles("n3", "lock,namenode,chunk")
        c.start("n3")
        t = ("-t", "cluster:quarry-cluster")
        self.write("lines.txt", "a\n")
        self.ok("fs", "put", "lines.txt", "/lines.txt", *t)
        self.wait_for(lambda: len(self.json("job", "workers", *t)) == 2)
        self.fails(1, "job", "run", "--mapper", "echo no such luck >&2; exit 3",
                   "-i", "file:/lines.txt", "-o", "file:/out", *t)
        job = self.json("job", "list", *t)[0]["job"]
        for name in c.names:
            at = self.address(c, name)
            doc = json.loads(self.get(at, "/jobs/%s.json" % job)[2])
            self.assertEqual(doc["state"], "failed", name)
            log = json.loads(self.get(
                at, "/jobs/%s/log.json?task=0&attempt=1" % job)[2])
            self.assertIn("no such luck", log["text"], name)
        self.env["USER"] = "ann"
        self.assertIn("ann may not look into",
                      self.fails(1, "job", "log", job, "m0.1", *t))

    def test_listed_table(self):
        """Every node shows a table that has a list of rights, with its tablets
        and its heat; a user who is not on the list sees neither."""
        c = self.loopback(2)
        t = ("-t", "cluster:quarry-cluster")
        self.wait_for(lambda: c.roles("n2").get("tablet", {}).get("ready") ==
                      "yes")
        self.ok("table", "create", "web", "--family", "f", *t)
        self.ok("acl", "grant", "web", "own", "ann", *t)
        self.env["USER"] = "ann"
        self.ok("put", "web", "m", "f:q=v", *t)
        self.ok("table", "split", "web", "m", *t)
        self.ok("shell", *t, stdin="get web m\n" * 500)
        self.env["USER"] = "bob"
        self.assertIn('"bob" may not read', self.fails(1, "get", "web", "m", *t))
        told = json.loads(self.ok("monitor", "heat", "table=web", *t))
        self.assertEqual(told["hottest"], [])
        self.assertTrue([w for w in told["warnings"] if '"bob" may not' in w],
                        told["warnings"])

        def seen(at):
            heat = json.loads(self.get(at, "/heat/web.json")[2])
            table = json.loads(self.get(at, "/tables/web.json")[2])
            self.assertNotIn("error", heat)
            return heat.get("hottest") and len(table["tablets"]) == 2 and all(
                tablet["state"] == "serving" for tablet in table["tablets"])
        for name in c.names:
            self.wait_for(lambda: seen(self.address(c, name)))

    def test_left_streams(self):
        """Streams whose viewers have left make room for others."""
        c = self.loopback(1)
        at = self.address(c, "n1")
        left = [self.open_events(at, "config")[0] for _ in range(24)]
        self.assertEqual(self.open_events(at, "config")[1], b"HTTP/1.1 503")
        for s in left:
            s.close()
        self.wait_for(lambda: self.open_events(at, "config")[1] ==
                      b"HTTP/1.1 200")

    def test_dead_node(self):
        """A node that is dead is said to be, by any of the others."""
        c = self.loopback(3)
        c.kill("n3")
        at = self.address(c, "n1")

        def told():
            doc = json.loads(self.get(at, "/nodes.json")[2])
            states = {n["name"]: n["state"] for n in doc["nodes"]}
            return (states.get("n1") == states.get("n2") == "up" and
                    sorted(states.values())[0] != "up" and doc["warnings"])
        self.wait_for(told)


if __name__ == "__main__":
    main()

"""The rights to the console: tokens, sessions, forged forms, and actions."""

import http.client
import json
import os
import re
import signal
import subprocess
import urllib.parse

from processes import QUARRY, SECONDS, ClusterTest, main


class Reply:
    """The whole answer to one request."""

    def __init__(self, answer):
        self.status = answer.status
        self.headers = answer.headers
        self.text = answer.read().decode()

    def cookie(self):
        return self.headers["Set-Cookie"].split(";")[0]

    def form_token(self):
        return re.search(r'name="form_token" value="([0-9a-f]{64})"',
                         self.text).group(1)


def request(address, method, path, form=None, **headers):
    """@headers: with "_" for "-"."""
    c = http.client.HTTPConnection(address, timeout=SECONDS)
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    body = None
    if form is not None:
        body = urllib.parse.urlencode(form)
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    c.request(method, path, body, headers)
    reply = Reply(c.getresponse())
    c.close()
    return reply


class AccessTest(ClusterTest):
    def serve(self, count):
        """A cluster whose consoles have tokens, and the tokens."""
        self.operate = self.token("operate", "alice")
        self.view = self.token("view", "wall")
        self.cluster = self.loopback(
            count, settings="console-tokens = \"%s\"\naudit-log = \"%s\"\n" % (
                self.path("tokens"), self.path("audit")))
        with open(self.cluster.dir("n1") + "/server.conf") as f:
            text = f.read()
        self.at = re.search(r"^console = (.*)$", text, re.M).group(1)
        self.listen = re.search(r"^listen = (.*)$", text, re.M).group(1)
        self.env["QUARRY_TARGET"] = "cluster:" + self.path("quarry-cluster")

    def token(self, right, name):
        return self.ok("token", "new", "--console", right, "--file",
                       self.path("tokens"), name).strip()

    def get(self, path, **headers):
        return request(self.at, "GET", path, **headers)

    def post(self, path, form, **headers):
        return request(self.at, "POST", path, form, **headers)

    def bearer(self, token):
        return {"Authorization": "Bearer " + token}

    def log_in(self, token):
        """The cookie of a new session."""
        reply = self.post("/login", {"token": token, "next": "/nodes?a=1"},
                          Origin="http://" + self.at,
                          Sec_Fetch_Site="same-origin")
        self.assertEqual((reply.status, reply.headers["Location"]),
                         (303, "/nodes?a=1"))
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(part, reply.headers["Set-Cookie"])
        return reply.cookie()

    def audited(self, what):
        with open(self.path("audit")) as f:
            events = [json.loads(line) for line in f]
        return [e for e in events if e["what"] == what]

    # --- seeing ---------------------------------------------------------------

    def test_tokens(self):
        """All but health and metrics needs a token, in a header or a session;
        reading the file again ends the sessions of a token that is gone."""
        self.serve(1)
        for path in ("/", "/nodes", "/nodes.json", "/status", "/vars",
                     "/events?subject=nodes", "/nothing", "/actions/kill"):
            self.assertEqual(self.get(path).status, 401, path)
            self.assertEqual(self.get(path, **self.bearer("x" * 64)).status in
                             (401, 429), True, path)
        for path in ("/health", "/metrics", "/login", "/assets/console.css"):
            self.assertEqual(self.get(path).status, 200, path)

    def test_sessions(self):
        """People are led to the login, and back; they log out."""
        self.serve(1)
        reply = self.get("/nodes?x=%26", Accept="text/html,*/*")
        self.assertEqual((reply.status, reply.headers["Location"]),
                         (303, "/login?next=%2Fnodes%3Fx%3D%2526"))
        self.assertIn('value="/nodes?x=%26"',
                      self.get(reply.headers["Location"]).text)
        for away in ("//evil.example", "https://evil.example", "/\\evil", ""):
            reply = self.post("/login", {"token": self.view, "next": away})
            self.assertEqual(reply.headers["Location"], "/", away)
        cookie = self.log_in(self.view)
        self.assertEqual(self.get("/nodes.json", Cookie=cookie).status, 200)
        page = self.get("/nodes", Cookie=cookie)
        self.assertIn("wall", page.text)
        self.assertEqual(page.headers["Cache-Control"], "no-store")
        self.assertEqual(self.post("/logout", {}, Cookie=cookie).status, 403)
        gone = self.post("/logout", {"form_token": page.form_token()},
                         Cookie=cookie)
        self.assertEqual(gone.status, 303)
        self.assertIn("Max-Age=0", gone.headers["Set-Cookie"])
        self.assertEqual(self.get("/nodes.json", Cookie=cookie).status, 401)
        self.wait_for(lambda: self.audited("console.logout"))
        self.assertEqual(self.audited("console.login")[-1]["who"], "wall")
        cookie = self.log_in(self.view)
        stream = http.client.HTTPConnection(self.at, timeout=SECONDS)
        self.addCleanup(stream.close)
        stream.request("GET", "/events?subject=nodes",
                       headers={"Cookie": cookie})
        events = stream.getresponse()
        self.assertEqual(events.status, 200)
        with open(self.path("tokens")) as f:
            lines = f.readlines()
        with open(self.path("tokens"), "w") as f:
            f.write(lines[0])
        self.cluster.signal("n1", signal.SIGHUP)
        self.wait_for(lambda: self.get("/nodes.json",
                                       Cookie=cookie).status == 401)
        events.read()  # It ends.
        self.assertEqual(self.get("/nodes.json",
                                  **self.bearer(self.operate)).status, 200)

    def test_guessing(self):
        """Wrong tokens make an address wait, also with a right one then, but
        not who has a session."""
        self.serve(1)
        cookie = self.log_in(self.view)
        statuses = [self.post("/login", {"token": "guess%d" % i}).status
                    for i in range(12)]
        self.assertEqual(statuses[0], 403)
        self.assertIn(429, statuses)
        self.assertEqual(self.get("/nodes.json", Cookie=cookie).status, 200)
        refused = [e for e in self.audited("console.login")
                   if e["outcome"] != "ok"]
        self.assertGreaterEqual(len(refused), 8)

    # --- changing -------------------------------------------------------------

    def test_forged(self):
        """A POST of another site changes nothing, nor does one without the
        right, nor any GET."""
        self.serve(1)
        self.ok("table", "create", "t", "--family", "f")
        self.ok("put", "t", "a", "f:x=1")
        cookie = self.log_in(self.operate)
        page = self.get("/actions/split?table=t&row=m", Cookie=cookie)
        self.assertIn("Split a tablet", page.text)
        self.assertIn('value="m"', page.text)
        form = {"table": "t", "row": "m", "form_token": page.form_token()}
        ours = "http://" + self.at
        for status, fields, headers in (
                (403, dict(form, form_token=""), {"Cookie": cookie}),
                (403, dict(form, form_token="0" * 64), {"Cookie": cookie}),
                (403, form, {"Cookie": cookie, "Origin": "http://evil"}),
                (403, form, {"Cookie": cookie, "Origin": "null"}),
                (403, form, {"Cookie": cookie, "Origin": ours,
                             "Sec-Fetch-Site": "cross-site"}),
                (403, form, {"Cookie": cookie, "Origin": ours,
                             "Sec-Fetch-Site": "same-site"}),
                (401, form, {}),
                (403, form, self.bearer(self.view)),
                (403, form, dict(self.bearer(self.operate),
                                 Origin="http://evil"))):
            reply = self.post("/actions/split", fields, **headers)
            self.assertEqual(reply.status, status, (fields, headers))
        for path in ("/actions/split?" + urllib.parse.urlencode(form),
                     "/nodes.json"):
            self.assertEqual(self.get(path, Cookie=cookie).status, 200)
        self.assertEqual(request(self.at, "HEAD", "/actions/split?table=t",
                                 Cookie=cookie).status, 200)
        self.assertEqual(self.post("/nodes", form, Cookie=cookie).status, 405)
        self.assertEqual(self.post("/actions/split", dict(form, row=""),
                                   Cookie=cookie).status, 400)
        self.assertEqual(self.tablets("t"), 1)
        self.assertEqual(self.audited("console.split")[0:], [])
        done = self.post("/actions/split", form, Cookie=cookie, Origin=ours,
                         Sec_Fetch_Site="same-origin")
        self.assertEqual(done.status, 200)
        self.assertIn("was split at row m", done.text)
        self.assertEqual(self.tablets("t"), 2)
        event, = self.audited("console.split")
        self.assertEqual((event["who"], event["by"], event["on"],
                          event["args"]["row"]), ("alice", "console", "t", "m"))

    def tablets(self, table):
        return len(self.json("table", "tablets", table))

    def order(self, name, **fields):
        """The status and the document that a program gets for an action."""
        reply = self.post("/actions/" + name, fields,
                          **self.bearer(self.operate))
        return reply.status, json.loads(reply.text)

    def test_actions(self):
        """A tablet is moved, a table compacted, a job killed, a level set."""
        self.serve(2)
        self.ok("table", "create", "t", "--family", "f")
        self.ok("put", "t", "a", "f:x=1")
        servers = sorted({r["address"] for r in self.cluster.status()})
        said = [self.order("move", table="t", row="a", server=s)
                for s in servers]
        self.assertEqual([s for s, _ in said], [200, 200], said)
        self.assertTrue(any("were not served for" in d["text"]
                            for _, d in said), said)
        self.assertEqual(self.order("compact", table="t")[1]["outcome"], "done")
        self.assertIn("the tablet of", self.order("compact", table="t",
                                                  row="a")[1]["text"])
        self.assertEqual(self.order("compact", table="none")[0], 404)
        self.assertEqual(self.order("log-level", node=self.listen,
                                    levels="info,rpc=debug")[0], 200)
        self.assertEqual(self.order("log-level", node=self.listen,
                                    levels="loud")[0], 400)
        self.write("a.txt", "a\n")
        self.ok("fs", "put", "a.txt", "a.txt")
        job = self.ok("job", "run", "--detach", "--mapper", "sleep 600", "-i",
                      "file:a.txt", "-o", "file:z").split()[0]
        self.assertEqual(self.order("kill", job=job)[0], 200)

        def state():
            row, = self.json("job", "status", job)
            return row["state"]
        self.wait_for(lambda: state() == "killed")
        self.assertEqual(self.order("kill", job=job)[1]["outcome"], "failed")
        self.assertEqual({e["on"] for e in self.audited("console.kill")}, {job})

    # --- quarry console -------------------------------------------------------

    def test_command(self):
        """`quarry console` shows the cluster to who opens its URL, once."""
        self.serve(1)
        process = subprocess.Popen([QUARRY, "console"], cwd=self.dir,
                                   env=self.env, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        url = process.stdout.readline().decode().strip()
        self.at, token = re.fullmatch(
            r"http://(127\.0\.0\.1:\d+)/login#([0-9a-f]{64})", url).groups()
        self.assertEqual(self.get("/nodes.json").status, 401)
        self.assertEqual(self.get("/nodes.json", **self.bearer(token)).status,
                         401)
        cookie = self.log_in(token)
        nodes = json.loads(self.get("/nodes.json", Cookie=cookie).text)["nodes"]
        self.assertEqual([n["state"] for n in nodes], ["up"])
        self.assertEqual(self.post("/login", {"token": token}).status, 403)
        page = self.get("/actions/log-level", Cookie=cookie)
        done = self.post("/actions/log-level",
                         {"node": self.listen, "levels": "debug",
                          "form_token": page.form_token()}, Cookie=cookie)
        self.assertIn("logs debug now", done.text)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(SECONDS), 0)
        process.stdout.close()


if __name__ == "__main__":
    main()

"""quarry replay in a browser: scripts see the page's own address by wombat, ask
by POST, and a browser that uses the proxy sees the archive alone."""

import json
import os
import sys
import unittest

from archived_site import FIRST, HOST, ReplayTest, cluster_tests, png, response
from harness import main
from test_replay_methods import asked

sys.path.insert(0, cluster_tests())
from browser import Browser, missing  # pylint: disable=wrong-import-position

URL = "http://%s/" % HOST
WOMBAT = os.environ.get("QUARRY_REPLAY_CACHE",
                        os.path.expanduser("~/.cache/quarry/wombat"))
PAGE = """<!doctype html><title>scripts</title>
<script>
let shared = location.host;
const seen = {script: document.location.href, top: top === self,
              self: (function() { return this })().location.pathname,
              global: this.location.host, evaluated: eval("location.host")};
class Kept { get() { return window.location.hostname } }
async function later() { return origin }
</script>
<script>"use strict";
seen.shared = shared; seen.kept = new Kept().get(); shared = "changed";
seen.later = typeof later;</script>
<script>seen.changed = shared;</script>
<script type="module">
import {where} from "./module.js";
import "/absolute.js";
seen.module = where();
seen.loaded = (await import("./other.js")).name;
const json = await fetch("/api", {method: "POST", body: '{"a": 1}',
  headers: {"Content-Type": "application/json", "X-Asked-With": "fetch"}});
seen.fetched = await json.text();
const form = new XMLHttpRequest();
form.open("POST", "/api");
form.withCredentials = true;
form.setRequestHeader("Content-Type", "application/x-www-form-urlencoded");
form.onloadend = () => {
  seen.asked = form.responseText;
  document.getElementById("done").textContent = JSON.stringify(seen);
};
form.send("b=2");
</script>
<p id="done">waiting</p>
<form method="post" action="/api"><input name="b" value="2"></form>
<a id="away" href="#" onclick="location.href = '/next'; return false">next</a>"""


@unittest.skipIf(missing(), missing())
class ReplayScripts(ReplayTest):
    def import_site(self, live_port=9):
        script = "text/javascript"
        records = [
            response(URL + "page", FIRST, PAGE),
            response(URL + "module.js", FIRST,
                     "export const where = () => location.pathname;", script),
            response(URL + "other.js", FIRST,
                     "const me = self.location.host; export {me as name};",
                     script),
            response(URL + "absolute.js", FIRST, "export default 1", script),
            asked("POST", URL + "api", "20200101000001", "by json",
                  b'{"a": 1}', "application/json"),
            asked("POST", URL + "api", "20200101000002", "by form", b"b=2"),
            response(URL + "next", FIRST, "<title>Next</title><p>the next page"),
            response(URL, FIRST, "<title>Plain</title><link rel=stylesheet "
                     "href=style.css><h1>home</h1><img id=one src=pic.png>"
                     "<a href=/next>next</a>"),
            response(URL + "style.css", FIRST, "h1 {color: rgb(1, 2, 3)}",
                     "text/css"),
            response(URL + "pic.png", FIRST, png(255, 0, 0), "image/png"),
        ]
        self.write("site.warc", b"".join(records))
        self.ok("import", "warc", "site.warc", "--into", "web")

    def enter(self, b, path):
        b.post("/frame", id=None)
        b.open("http://%s/web/%s/%s%s" % (self.address, FIRST, URL, path))
        b.post("/frame", id=b.run("return document.getElementById('replay')"))

    def await_text(self, b, script, want):
        self.wait_to_see(lambda: b.run(script), lambda seen: seen == want)

    def test_scripts(self):
        if not os.path.exists(os.path.join(WOMBAT, "wombat.js")):
            self.skipTest("wombat is not here: scripts/deps replay fetches it")
        self.serve("--wombat", WOMBAT)
        with Browser(self.path("browser")) as b:
            self.enter(b, "page")
            self.assertIsNone(b.run("return window.__quarry_replay_failed"))
            done = "return document.getElementById('done').textContent"
            told = self.wait_to_see(lambda: b.run(done),
                                    lambda text: text != "waiting")
            self.assertEqual(json.loads(told), {
                "script": URL + "page", "top": True, "self": "/page",
                "global": HOST, "evaluated": HOST, "shared": HOST, "kept": HOST,
                "later": "function", "changed": "changed", "module": "/page",
                "loaded": HOST, "fetched": "by json", "asked": "by form"})
            b.run("document.forms[0].submit()")
            self.await_text(b, "return document.body && document.body.innerText",
                            "by form")
            self.enter(b, "page")
            b.run("document.getElementById('away').click()")
            self.await_text(b, "return document.title", "Next")
            b.post("/frame", id=None)
            self.await_text(b, "return location.pathname",
                            "/web/%s/%snext" % (FIRST, URL))

    def test_proxy(self):
        """A browser sees addresses and pages as they were."""
        self.serve("--proxy")
        with Browser(self.path("browser"), [
                "--proxy-server=http://" + self.address,
                "--proxy-bypass-list=<-loopback>"]) as b:
            b.open(URL)
            self.assertEqual(b.run("return [document.title, location.href]"),
                             ["Plain", URL])
            self.await_text(b, "const i = document.getElementById('one');"
                            "return i.complete && i.naturalWidth", 1)
            self.assertEqual(b.run("return getComputedStyle(document."
                                   "querySelector('h1')).color"), "rgb(1, 2, 3)")
            b.run("document.querySelector('a').click()")
            self.await_text(b, "return document.title", "Next")
            told = b.run_async(
                "const done = arguments[0];"
                "fetch('/api', {method: 'POST', body: 'b=2', headers: "
                "{'Content-Type': 'application/x-www-form-urlencoded'}})"
                ".then(r => r.text()).then(done, e => done(String(e)))")
            self.assertEqual(told, "by form")
            b.open(URL + "never")
            self.assertIn("there is no capture of",
                          b.run("return document.body.innerText"))
            # No connection is made for https.
            with self.assertRaisesRegex(RuntimeError, "ERR_TUNNEL_CONNECTION"):
                b.open("https://%s/" % HOST)


if __name__ == "__main__":
    main()

"""quarry replay in a browser: a page with script, styles, images and a frame is
shown from the archive alone, and one that tries to reach out does not."""

import http.server
import json
import os
import sys
import threading
import unittest

from archived_site import FIRST, HOST, SECOND, ReplayTest, cluster_tests
from harness import main

sys.path.insert(0, cluster_tests())
from browser import Browser, missing  # pylint: disable=wrong-import-position

URL = "http://%s/" % HOST
# Requests of the window and of all frames, by their URLs.
REQUESTS = """
const all = [];
const add = (w) => {
  for (const e of w.performance.getEntriesByType("resource")) all.push(e.name);
};
add(window);
return all;
"""
WOMBAT = os.path.join(os.environ.get("QUARRY_REPLAY_CACHE", os.path.expanduser(
    "~/.cache/quarry/wombat")))


class Live(http.server.BaseHTTPRequestHandler):
    """Today's web: it counts who asks."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.end_headers()

    def log_message(self, *_):
        pass


@unittest.skipIf(missing(), missing())
class ReplayPages(ReplayTest):
    def import_site(self, live_port=9):
        self.live = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Live)
        self.live.asked = []
        threading.Thread(target=self.live.serve_forever, daemon=True).start()
        self.addCleanup(self.live.server_close)
        self.addCleanup(self.live.shutdown)
        super().import_site(self.live.server_address[1])

    def enter_frame(self, b):
        frame = b.run("return document.getElementById('replay')")
        b.post("/frame", id=frame)

    def wait_in(self, b, script, want):
        self.wait_to_see(lambda: b.run(script), lambda seen: seen == want)

    def quiet(self, b):
        self.assertEqual([line["message"] for line in b.log()], [])

    def see_page(self, b):
        """The home page of FIRST, in the frame of the window."""
        b.open("http://%s/web/%s/%s" % (self.address, FIRST, URL))
        self.assertIn("2020-01-01", b.run("return document.body.innerText"))
        self.enter_frame(b)
        self.wait_in(b, "return document.getElementById('script').textContent",
                     "script ran")
        style = "return getComputedStyle(document.querySelector('h1')).%s"
        self.assertEqual(b.run(style % "color"), "rgb(1, 2, 3)")
        self.assertEqual(b.run(style % "fontSize"), "77px")
        self.assertIn("site.example/pic.png", b.run(style % "backgroundImage"))
        for name in ("one", "two"):
            self.wait_in(b, "const i = document.getElementById('%s');"
                         "return i.complete && i.naturalWidth" % name, 1)
        b.post("/frame", id=b.run("return document.getElementById('inner')"))
        self.assertIn("inner", b.run("return document.body.innerText"))
        b.post("/frame", id=None)

    def check_requests(self, b):
        for url in b.run(REQUESTS):
            self.assertTrue(url.startswith("http://%s/" % self.address), url)
        self.assertEqual(self.live.asked, [])

    def test_page(self):
        self.serve("--wombat", self.without())
        with Browser(self.path("browser")) as b:
            self.see_page(b)
            self.check_requests(b)
            self.quiet(b)

    def without(self):
        """A place without wombat's code."""
        self.write("wombat.js", "")
        return self.dir

    def test_page_with_wombat(self):
        if not os.path.exists(os.path.join(WOMBAT, "wombat.js")):
            self.skipTest("wombat is not here: scripts/deps replay fetches it")
        self.serve("--wombat", WOMBAT)
        with Browser(self.path("browser")) as b:
            self.see_page(b)
            self.enter_frame(b)
            self.assertTrue(b.run("return !!window._wb_wombat"))
            self.assertIsNone(b.run("return window.__quarry_replay_failed"))
            # A link that a script makes.
            b.run("const i = new Image(); i.id = 'made'; "
                  "i.src = 'http://%s/pic.png'; document.body.append(i)" % HOST)
            self.wait_in(b, "return document.getElementById('made')"
                         ".naturalWidth", 1)
            b.post("/frame", id=None)
            self.check_requests(b)
            self.quiet(b)

    def test_links(self):
        """A link in the page changes the banner's address with it."""
        self.serve("--wombat", self.without())
        with Browser(self.path("browser")) as b:
            b.open("http://%s/web/%s/%s" % (self.address, FIRST, URL))
            self.enter_frame(b)
            b.run("document.getElementById('out').click()")
            b.post("/frame", id=None)
            self.wait_in(b, "return location.pathname",
                         "/web/%s/http://other.example/page" % FIRST)
            self.assertEqual(
                b.run("return document.getElementById('replay-url')"
                      ".textContent"), "http://other.example/page")
            b.open("http://%s/web/%smp_/%s" % (self.address, SECOND, URL))
            self.assertEqual(b.run("return location.pathname"),
                             "/web/%s/%s" % (SECOND, URL))

    def test_hostile(self):
        """The server's cookies and storage, other pages and today's web are out
        of reach."""
        self.serve("--wombat", self.without())
        with Browser(self.path("browser")) as b:
            b.open("http://%s/" % self.address)
            b.run("document.cookie = 'secret=1'; localStorage.own = 1")
            b.open("http://%s/web/%s/%shostile" % (self.address, FIRST, URL))
            self.enter_frame(b)
            told = self.wait_to_see(
                lambda: b.run("return document.getElementById('done')"
                              ".textContent"),
                lambda text: text != "waiting")
            seen = json.loads(told)
            self.assertEqual(seen, {
                "cookie": "a=b", "storage": "undefined", "parent": "refused",
                "top": "refused", "origin": "null", "image": "refused",
                "own": "refused"})
            self.assertEqual(self.live.asked, [])
            # The frame cannot be led to today's web, either.
            b.run("location = 'http://127.0.0.1:%d/away'" %
                  self.live.server_address[1])
            b.post("/frame", id=None)
            b.open("http://%s/" % self.address)
            self.assertEqual(b.run("return document.cookie"), "secret=1")
            self.assertEqual(b.run("return Object.keys(localStorage)"), ["own"])
            self.assertEqual(self.live.asked, [])

    def test_own_pages(self):
        """Calendar, list, difference: nothing is refused or thrown."""
        self.serve("--wombat", self.without())
        with Browser(self.path("browser")) as b:
            for path in ("/", "/web", "/hosts", "/keys", "/web/*/" + URL, "/web/*/%s*" % URL,
                         "/difference?url=%s&a=%s&b=%s" % (URL, FIRST, SECOND)):
                b.open("http://%s%s" % (self.address, path))
                self.assertEqual(b.run(
                    "return document.querySelectorAll('h1').length"), 1, path)
                self.quiet(b)


if __name__ == "__main__":
    main()

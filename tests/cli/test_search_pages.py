"""The page of quarry search in a browser: results without a script, wide and
narrow, dark and light; and what axe says of it."""

import os
import sys
import unittest

from archived_site import FIRST, SECOND, cluster_tests
from harness import main
from test_search import HOSTILE, SearchTest

sys.path.insert(0, cluster_tests())
from browser import Browser, missing  # pylint: disable=wrong-import-position

AXE = os.path.join(os.environ.get("QUARRY_BROWSER_CACHE", os.path.expanduser(
    "~/.cache/quarry")), "axe-core-4.14.1.js")
PICTURES = os.environ.get("QUARRY_SEARCH_PICTURES")
RULES = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  result => done(result.violations.map(v => v.id + ": " +
    v.nodes.map(n => n.target.join(" ")).join(", "))),
  error => done(["axe: " + error]));
"""
ONE = "http://one.example/"
# Of replay, which the same server shows.
REPLAY_PAGES = [
    "/web/%s/%s" % (FIRST, ONE), "/web/*/" + ONE + "seeds",
    "/web/2020*/" + ONE + "seeds", "/web/*/" + ONE + "*",
    "/difference?url=%sseeds&a=%s&b=%s" % (ONE, FIRST, SECOND),
    "/hosts", "/ranks", "/keys", "/web/%s/%snowhere" % (FIRST, ONE),
    "/nowhere"]
PAGES = ["/", "/search?q=garden+tools", "/search?q=nothinglikeit",
         "/search?q=after:x", "/search?q=vegtable+tools"]


@unittest.skipIf(missing(), missing())
class SearchPages(SearchTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def picture(self, b, name):
        if PICTURES:
            b.picture(os.path.join(PICTURES, name + ".png"))

    @staticmethod
    def axe():
        """The script of axe-core, or None."""
        if os.path.exists(AXE):
            with open(AXE, encoding="utf-8") as f:
                return f.read()
        print("SKIPPED: axe-core is not here (scripts/deps browser)")
        return None

    def test_replay_pages(self):
        """Axe finds no fault with the pages that replay has of its own, nor
        with the banner above an archived one."""
        axe = self.axe()
        if not axe:
            return
        self.stop()
        self.ok("table", "alter", "web", "--add-family", "rank,versions=1")
        self.ok("put", "web", "example.one/seeds", "rank:=0.5")
        self.serve()
        found = []
        with Browser(self.path("browser")) as b:
            for scheme in ("light", "dark"):
                b.scheme(scheme)
                for path in REPLAY_PAGES:
                    b.open("http://%s%s" % (self.address, path))
                    b.run(axe)
                    found += ["%s, %s: %s" % (path, scheme, fault)
                              for fault in b.run_async(RULES)]
        self.assertEqual(found, [])

    def test_pages(self):
        """Nothing is refused, thrown or too wide, and axe finds no fault."""
        axe = self.axe()
        with Browser(self.path("browser")) as b:
            for width in (1200, 360):
                for scheme in ("light", "dark"):
                    b.size(width, 800)
                    b.scheme(scheme)
                    for i, path in enumerate(PAGES):
                        self.see(b, path, width, axe)
                        self.picture(b, "%s-%d-%d" % (scheme, width, i))

    def see(self, b, path, width, axe):
        b.open("http://%s%s" % (self.address, path))
        self.assertEqual(b.run("return document.querySelectorAll('h1').length"),
                         1, path)
        self.assertLessEqual(b.run(
            "return document.documentElement.scrollWidth"),
            max(width, b.run("return innerWidth")), path)
        if axe:
            b.run(axe)
            self.assertEqual(b.run_async(RULES), [], path)

    def test_hostile(self):
        """A title with a script in it is text; nothing of the archive runs."""
        with Browser(self.path("browser")) as b:
            b.open("http://%s/search?q=hostile" % self.address)
            self.assertEqual(b.run(
                "return document.querySelector('.search-results h2').innerText"),
                HOSTILE)
            self.assertEqual(b.run("return document.scripts.length"), 1)
            self.assertEqual(b.run(
                "return document.querySelectorAll('main img, main b').length"),
                0)

    def test_result_opens(self):
        """A click on a result shows the page as it was archived."""
        with Browser(self.path("browser")) as b:
            b.open("http://%s/search?q=rake" % self.address)
            b.run("document.querySelector('.search-results a').click()")
            self.wait_to_see(lambda: b.run("return location.pathname"),
                             lambda p: p.startswith("/web/2020"))


if __name__ == "__main__":
    main()

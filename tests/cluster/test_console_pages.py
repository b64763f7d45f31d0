"""The console's pages in a browser: every link leads somewhere, nothing is
refused or thrown, windows of all sizes and colours, the keyboard, live changes.
"""

import json
import os
import re
import time
import urllib.error
import urllib.request

from browser import TAB, Browser, missing
from console_pages import address, fill
from processes import SECONDS, ClusterTest, main

WIDTHS = (360, 1280, 2560)
# More links than a small cluster has; a tree of links that grows is a defect.
LINKS_MAX = 6000
AXE = os.path.join(os.environ.get("QUARRY_BROWSER_CACHE", os.path.expanduser(
    "~/.cache/quarry")), "axe-core-4.14.1.js")
OVERFLOW = """
return document.documentElement.scrollWidth > document.documentElement.clientWidth
"""
LINKS = """
return [...document.querySelectorAll("a[href]")].map(a => a.href)
"""
# The rules of axe that are broken, and where.
ASK_AXE = """
const done = arguments[arguments.length - 1];
const rules = arguments[0] ? {runOnly: ["color-contrast"]} : {};
axe.run(document, {resultTypes: ["violations"], ...rules}).then(
  found => done(found.violations
    .filter(v => v.impact === "serious" || v.impact === "critical")
    .map(v => v.id + ": " + v.help + ": " + v.nodes[0].html +
         " " + v.nodes[0].failureSummary)),
  error => done(["axe: " + error]));
"""
FOCUS = """
const e = document.activeElement, r = e.getBoundingClientRect();
const s = getComputedStyle(e);
return {name: e.nodeName, text: e.textContent.trim().slice(0, 40),
        cls: e.className, seen: r.width > 0 && r.height > 0,
        ring: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0}
"""


class ConsolePagesTest(ClusterTest):
    def setUp(self):
        super().setUp()
        why = missing()
        if why:
            self.skip(why)

    def fetch(self, url):
        """(status, type, text) without the browser."""
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                return (answer.status, answer.headers["Content-Type"],
                        answer.read().decode())
        except urllib.error.HTTPError as e:
            return e.code, e.headers["Content-Type"], e.read().decode()

    def open(self, b, url):
        b.open(url)
        self.assertEqual(b.run(
            "return performance.getEntriesByType('navigation')[0]"
            ".responseStatus"), 200, url)
        self.assertEqual(b.run(
            "return document.querySelectorAll('h1').length"), 1, url)

    def quiet(self, b, url):
        """Nothing was refused, missing or thrown."""
        told = [line["message"] for line in b.log()]
        self.assertEqual(told, [], url)

    def see_sizes(self, b, url):
        for width in WIDTHS:
            b.size(width)
            self.assertFalse(b.run(OVERFLOW), "%s at %d px" % (url, width))

    def see_rules(self, b, url):
        if not os.path.exists(AXE):
            return
        with open(AXE) as f:
            b.run(f.read())
        for scheme in ("dark", "light"):
            b.scheme(scheme)
            self.assertEqual(b.run_async(ASK_AXE, scheme == "light"), [],
                             "%s, %s" % (url, scheme))

    def see(self, b, url, well):
        """Look at one page, @well or only shortly; returns where its links
        lead."""
        self.open(b, url)
        links = b.run(LINKS)
        if well:
            self.see_sizes(b, url)
            self.see_rules(b, url)
        self.quiet(b, url)
        return links

    def kind_of(self, url):
        """Pages of one kind differ in their names: tables, nodes, keys."""
        path, _, query = url.partition("?")
        path = re.sub(r"^https?://[^/]*", "", path)
        path = re.sub(r"^/(nodes|tables|jobs|heat|traces)/[^/.]+", r"/\1/X",
                      path)
        return path, re.sub(r"=[^&]*", "", query)

    def walk(self, b, at):
        """All links, the first two of each kind; in the browser, but for those
        that only sort a table or choose a span of time."""
        waiting, known, kinds = [at + "/"], set(), {}
        while waiting:
            url = waiting.pop(0).split("#")[0]
            if url in known:
                continue
            known.add(url)
            kind = self.kind_of(url)
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] > 2:
                continue
            self.assertLess(len(known), LINKS_MAX)
            self.assertTrue(url.startswith(at + "/"), url)
            status, content, text = self.fetch(url)
            self.assertEqual(status, 200, url + ": " + text[-300:])
            if content == "application/json":
                json.loads(text)
            elif (content.startswith("text/html") and
                  not re.search("sort|range", kind[1])):
                waiting += self.see(b, url, kinds[kind] == 1)
        return {kind[0] for kind in kinds}

    def test_pages(self):
        """All of it, on one cluster of three nodes of which one is killed."""
        if not os.path.exists(AXE):
            print("SKIPPED: axe-core is not here (scripts/deps browser): the "
                  "rules of accessibility are not asked", flush=True)
        c = self.loopback(3)
        self.env["QUARRY_TARGET"] = "cluster:quarry-cluster"
        good, bad = fill(self)
        # Its console shows the jobs that another node leads.
        leader = json.loads(self.fetch(address(c, "n1") + "/overview.json")[
            2])["leaders"]["jobs"]
        looks, dead = [n for n in c.names if n != leader]
        c.kill(dead)
        at = address(c, looks)
        with Browser(self.path("browser")) as b:
            seen = self.walk(b, at)
            for path in ("/", "/nodes", "/nodes/X", "/tables", "/tables/X",
                         "/tables/X/tablet", "/jobs", "/jobs/X",
                         "/jobs/X/log", "/heat/X", "/findings", "/files",
                         "/file", "/locks", "/slow", "/traces/X", "/config"):
                self.assertIn(path, seen)
            with self.subTest("keyboard"):
                self.see_keyboard(b, at)
            with self.subTest("sorting"):
                self.see_sorting(b, at)
            with self.subTest("times"):
                self.see_times(b, at, good)
            with self.subTest("colours"):
                self.see_colours(b, at)
            with self.subTest("failed attempt"):
                self.see_log(b, at, bad)
            with self.subTest("live"):
                self.see_live(b, at, c, dead)
            with self.subTest("without script"):
                self.see_without_script(b, at)

    def see_keyboard(self, b, at):
        """The first stop leads to the page; each stop can be seen."""
        b.size(1280)
        self.open(b, at + "/tables/webtable")
        b.press(TAB)
        stop = b.run(FOCUS)
        self.assertEqual(stop["cls"], "skip")
        self.assertTrue(stop["ring"])
        b.press("\ue007")
        self.assertEqual(b.run("return document.activeElement.id"), "main")
        texts = []
        for _ in range(12):
            b.press(TAB)
            stop = b.run(FOCUS)
            self.assertTrue(stop["seen"] and stop["ring"], stop)
            texts.append(stop["text"])
        self.assertEqual(texts[0], "Tables")
        self.assertTrue(any(t.startswith("JSON") for t in texts), texts)
        self.assertIn("From row", texts)

    def see_sorting(self, b, at):
        """A button sorts; the address says so, and gives the same again."""
        order = ("return [...document.querySelectorAll('#tablets tbody tr')]"
                 ".map(r => r.cells[0].textContent)")
        self.open(b, at + "/tables/webtable")
        rows = b.run(order)
        self.assertEqual(len(rows), 6)
        press = "document.querySelector('#tablets th button').click()"
        b.run(press)
        self.assertEqual(b.run("return location.search"), "?sort=start")
        b.run(press)
        self.assertEqual(b.run("return location.search"), "?sort=-start")
        down = b.run(order)
        self.assertEqual(down[0], "w")
        self.assertEqual(b.run("return document.querySelector('#tablets th')"
                               ".getAttribute('aria-sort')"), "descending")
        self.open(b, at + "/tables/webtable?sort=-start")
        self.assertEqual(b.run(order), down)

    def see_times(self, b, at, job):
        """Times are those of the reader's zone."""
        last = ("return [...document.querySelectorAll("
                "'main time:not([data-ago])')].pop().textContent")
        texts = set()
        for zone in ("Asia/Tokyo", "America/New_York"):
            b.devtools("Emulation.setTimezoneOverride", timezoneId=zone)
            self.open(b, at + "/jobs/" + job)
            texts.add(re.sub(r":\d\d:\d\d", "", b.run(last)))
        b.devtools("Emulation.setTimezoneOverride", timezoneId="")
        self.assertEqual(len(texts), 2, texts)

    def see_colours(self, b, at):
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.open(b, at + "/")
        found = set()
        for scheme in ("dark", "light"):
            b.scheme(scheme)
            found.add(b.run(ground))
        self.assertEqual(len(found), 2, found)

    def see_log(self, b, at, job):
        """From the job to the log of an attempt that failed."""
        self.open(b, at + "/jobs/" + job)
        self.assertIn("exited with status 3",
                      b.run("return document.querySelector('main').innerText"))
        b.open(b.run("return [...document.querySelectorAll('#attempts a')]"
                     ".pop().href"))
        self.assertIn("a mapper that fails", b.run(
            "return document.querySelector('pre.log').innerText"))

    def see_live(self, b, at, c, dead):
        """A node that comes back is up without a reload, and what is focused
        stays so."""
        self.open(b, at + "/nodes")
        state = ("return [...document.querySelectorAll('#nodes tbody tr')]"
                 ".map(r => r.cells[1].textContent)")
        self.assertEqual(len([s for s in b.run(state) if s == "up"]), 2)
        b.run("document.querySelector('#nodes tbody a').focus(); "
              "window.was = document.activeElement")
        c.start(dead)
        until = time.monotonic() + SECONDS
        while b.run(state).count("up") < 3 and time.monotonic() < until:
            time.sleep(0.3)
        self.assertEqual(b.run(state).count("up"), 3)
        self.assertTrue(b.run("return window.was === document.activeElement"))
        self.quiet(b, "/nodes")

    def see_without_script(self, b, at):
        """The page is whole, and sorts by its links."""
        status, _, text = self.fetch(at + "/tables?sort=-name")
        self.assertEqual(status, 200)
        self.assertLess(text.index(">webtable<"), text.index(">users<"))
        b.without_script()
        b.open(at + "/tables")
        self.assertEqual(b.run("return document.querySelectorAll("
                               "'#tables tbody tr').length"), 2)
        self.assertTrue(b.run("return document.querySelector('#tables th a')"
                              ".href").endswith("?sort=name"))


if __name__ == "__main__":
    main()

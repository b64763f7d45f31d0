"""History and heat of real processes: what nodes remember is in the documents within seconds."""

import json
import os
import re
import time

from browser import Browser, missing
from processes import SECONDS, ClusterTest, main

TARGET = ("-t", "cluster:quarry-cluster")
SOON = 10


class HeatTest(ClusterTest):
    def document(self, *words):
        return json.loads(self.ok("monitor", *words, *TARGET))

    def until(self, what, fn, seconds=SECONDS):
        """Call fn() until it returns something true; how long that took."""
        begun = time.monotonic()
        while True:
            got = fn()
            if got:
                return got, time.monotonic() - begun
            self.assertLess(time.monotonic() - begun, seconds, "no " + what)
            time.sleep(0.3)

    def values(self, doc, name):
        """The last points of a series that are known."""
        for series in doc["series"]:
            if series["name"] == name:
                return [value for _, value in series["points"] if value is not None]
        return []

    def test_history(self):
        """Operations and the state of processes are in the history of one node, and of all as
        one, whose times line up; a node that is gone leaves a warning."""
        c = self.loopback(3)
        self.ok("table", "create", "t", "--family", "f", *TARGET)
        for i in range(20):
            self.ok("put", "t", "row%d" % i, "f:q=v", *TARGET)
        self.until("writes", lambda: any(self.values(
            self.document("history", "series=writes_per_s,write_p99_us"), "write_p99_us")))
        doc = self.document("history")
        self.assertEqual(doc["step_us"], 5000000)
        self.assertEqual(doc["warnings"], [])
        names = {s["name"]: s for s in doc["series"]}
        for name in ("writes_per_s", "rss_bytes", "cpu_cores", "disk_size_bytes", "log_bytes",
                     "commit_p99_us", "memtable_bytes", "fds"):
            self.assertIn(name, names)
        self.assertEqual(names["rss_bytes"]["across"], "sum")
        self.assertEqual(names["commit_p99_us"]["across"], "worst")
        times = [at for at, _ in names["rss_bytes"]["points"]]
        self.assertEqual(times, list(range(times[0], times[-1] + 1, doc["step_us"])))
        self.assertEqual(times[0] % doc["step_us"], 0)
        self.assertLessEqual(doc["at_us"] - times[-1], 2 * doc["step_us"])
        each = self.document("history", "node=*", "series=rss_bytes", "from=-60")["series"]
        self.assertEqual(sorted(s["node"] for s in each), ["n1", "n2", "n3"])
        for series in each:
            self.assertLessEqual(len(series["points"]), 14)
            self.assertGreater(series["points"][-1][1], 1 << 20)
        one = self.document("history", "node=n2", "series=rss_bytes,fds", "from=-600", "step=60")
        self.assertEqual(one["step_us"], 60000000)
        self.assertEqual({s["name"] for s in one["series"]}, {"rss_bytes", "fds"})
        c.kill("n3")
        gone = self.document("history", "series=rss_bytes")
        self.assertTrue(any("down" in w for w in gone["warnings"]), gone["warnings"])
        self.assertTrue(self.values(gone, "rss_bytes"))
        self.assertIn("n3", self.fails(1, "monitor", "history", "node=n3", *TARGET))
        for wrong in ("series=nonsense", "from=yesterday", "step=0", "node=n9"):
            self.fails(1, "monitor", "history", wrong, *TARGET)

    def heat(self, *words):
        return self.document("heat", "table=t", *words)

    def hottest(self, *words):
        """The range that was used most, and its rate now."""
        rows = self.heat(*words)["hottest"]
        return rows[0] if rows else None

    def read(self, row, times):
        self.ok("shell", *TARGET, stdin="get t %s\n" % row * times)

    def check_matrix(self, doc):
        self.assertEqual(len(doc["values"]), len(doc["times"]))
        for row in doc["values"]:
            self.assertEqual(len(row), len(doc["keys"]) - 1)
        inner = [k for k in doc["keys"][1:-1]]
        self.assertEqual(inner, sorted(set(inner)))
        self.assertLessEqual(len(inner), 255)
        self.assertLessEqual(len(doc["times"]), 1440)

    def see_hot(self, row):
        """The document shows within seconds that the row is hot now."""
        def seen():
            hot = self.hottest("from=-600")
            return hot and hot["start"] == row and hot["end"] == row + "\\x00" and hot
        hot, seconds = self.until("hot range %s" % row, seen, 60)
        self.assertGreater(hot["now_per_s"], 0)
        return seconds

    def test_hot_key(self):
        """A key that is read often stands out within seconds, in the tablet that has it now and
        after the tablet was cut and moved to another server; what was before stays to be seen."""
        c = self.loopback(3)
        self.ok("table", "create", "t", "--family", "f", *TARGET)
        self.ok("shell", *TARGET,
                stdin="".join("put t row%03d f:q=v\n" % i for i in range(200)))
        writes = self.heat("what=writes", "from=-600")
        self.check_matrix(writes)
        self.assertGreater(len(writes["keys"]), 10)
        self.assertEqual(self.heat("what=reads", "from=-600")["hottest"], [])
        self.read("row077", 100)
        self.assertLess(self.see_hot("row077"), SOON)
        self.assertGreater(sum(map(sum, self.heat("what=bytes", "from=-600")["values"])), 0)
        # Cut it off, and give it to another server.
        self.ok("table", "split", "t", "row050", *TARGET)
        rows = self.json("table", "tablets", "t", *TARGET)
        owner = [r for r in rows if r["start"] == "row050"][0]["server"]
        others = {n["address"] for n in self.document("nodes")["nodes"]} - {owner}
        self.ok("table", "move", "t", "row050", sorted(others)[0], *TARGET)
        self.read("row123", 150)
        self.assertLess(self.see_hot("row123"), SOON)
        whole = self.heat("what=reads", "from=-600")
        self.check_matrix(whole)
        starts = [h["start"] for h in whole["hottest"]]
        self.assertIn("row123", starts)
        self.assertIn("row077", starts)
        # Zoom: only rows in between, in finer ranges or the same.
        zoom = self.heat("what=reads", "from=-600", "start=row100", "end=row150")
        self.check_matrix(zoom)
        self.assertEqual((zoom["keys"][0], zoom["keys"][-1]), ("row100", "row150"))
        self.assertEqual(zoom["hottest"][0]["start"], "row123")
        self.assertNotIn("row077", [h["start"] for h in zoom["hottest"]])
        day = self.heat("what=reads")
        self.assertEqual(day["step_us"], 300000000)
        self.assertLessEqual(len(day["times"]), 290)
        self.check_matrix(day)
        for wrong in ("what=nonsense", "from=yesterday", "step=1", "table=u"):
            self.fails(1, "monitor", "heat", *([] if wrong == "table=u" else ["table=t"]), wrong,
                       *TARGET)
        self.fails(1, "monitor", "heat", "table=t", "start=b", "end=a", *TARGET)

    def console(self, cluster, name):
        with open(cluster.dir(name) + "/server.conf") as f:
            return re.search(r"^console = (.*)$", f.read(), re.M).group(1)

    def drawn(self, browser):
        """Wait for a picture; what it tells."""
        self.until("picture", lambda: browser.run(
            "return document.getElementById('heat').dataset.drawn"))
        return browser.run("return document.getElementById('heat-told').textContent")

    def picture(self, browser, name):
        if os.environ.get("QUARRY_PICTURES"):
            browser.picture(os.path.join(os.environ["QUARRY_PICTURES"], name + ".png"), True)

    def test_key_visualizer(self):
        """The picture is drawn, tells what is under the keyboard's cursor, is zoomed by the
        keyboard, with its state in the address, and back; without a script there is a table."""
        if missing():
            print("SKIPPED: %s: %s" % (self.id(), missing()), flush=True)
            self.skipTest(missing())
        c = self.loopback(1)
        self.ok("table", "create", "t", "--family", "f", *TARGET)
        self.ok("shell", *TARGET,
                stdin="".join("put t row%03d f:q=v\n" % i for i in range(150)))
        self.read("row077", 150)
        self.see_hot("row077")
        url = "http://%s/heat/t?what=reads&from=-1200" % self.console(c, "n1")
        with Browser(self.path("browser")) as b:
            b.open(url)
            self.assertIn("Point at the picture", self.drawn(b))
            self.assertGreater(b.run("""
                const c = document.querySelector('#heat canvas[tabindex]');
                const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
                const seen = new Set();
                for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
                return seen.size"""), 4)
            b.scheme("dark")
            self.picture(b, "heat-dark")
            b.scheme("light")
            self.picture(b, "heat-light")
            b.run("document.querySelector('#heat canvas[tabindex]').focus()")
            press = """document.querySelector('#heat canvas[tabindex]').dispatchEvent(
                new KeyboardEvent('keydown', {key: arguments[0], shiftKey: arguments[1],
                                              bubbles: true}))"""
            b.run(press, "ArrowDown", False)
            b.run(press, "ArrowDown", False)
            self.assertRegex(b.run(
                "return document.getElementById('heat-told').textContent"), "to before .*reads")
            b.run(press, "ArrowDown", True)
            self.assertIn("Selected", b.run(
                "return document.getElementById('heat-told').textContent"))
            b.run("delete document.getElementById('heat').dataset.drawn")
            b.run(press, "Enter", False)
            self.drawn(b)
            self.assertRegex(b.run("return location.search"), "start=row.*")
            b.run("delete document.getElementById('heat').dataset.drawn")
            b.run(press, "Escape", False)
            self.drawn(b)
            self.until("the whole again", lambda: "start=" not in b.run("return location.search"))
            b.run("document.querySelector('a[data-what=writes]').click()")
            self.until("writes", lambda: "what=writes" in b.run("return location.search"))
            b.size(360)
            self.assertLessEqual(b.run("return document.documentElement.scrollWidth"), 360)
            self.picture(b, "heat-narrow")
            self.assertEqual([line for line in b.log() if line.get("level") == "SEVERE"], [])
            b.without_script()
            b.open(url)
            page = b.run("return document.body.textContent")
        self.assertIn("Hottest ranges", page)
        self.assertIn("row077", page)


if __name__ == "__main__":
    main()

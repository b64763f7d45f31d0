"""History and heat of real processes: what nodes remember is in the documents within seconds."""

import json
import time

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


if __name__ == "__main__":
    main()

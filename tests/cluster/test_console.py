"""The console: what a browser, a scraper and a load balancer get."""

import re
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
        """The type and text of a page, also of one that tells of a failure."""
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


if __name__ == "__main__":
    main()

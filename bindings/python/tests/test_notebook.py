"""The notebook of examples/ runs to its end over a Webtable, and plots; skipped,
with a line that says so, where it cannot run."""

import os
import tempfile
import unittest

import quarry

try:
    import matplotlib  # noqa: F401
    import nbclient
    import nbformat
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    MISSING = None
except ImportError as e:
    MISSING = e.name

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        os.pardir, "examples", "crawl.ipynb")


class NotebookTest(unittest.TestCase):
    def fill(self, target):
        """A few pages of two hosts, which link to each other."""
        with quarry.open(target) as db:
            table = db.create_table("webtable", {
                "contents": "", "anchor": "", "language": "", "http": "",
                "meta": ""})
            for i in range(30):
                key = "org.h%d/p%d" % (i % 2, i)
                table.put(key, {
                    "http:content-type": "text/html", "http:status": "200",
                    "meta:type": "response", "meta:length": str(100 * i + 50),
                    "meta:links": "1", "meta:title": "t", "language:": "en",
                    "anchor:org.h0/p%d" % (i + 1): "link"})

    def test_runs(self):
        """Every cell runs, and four of them plot."""
        if MISSING:
            print("SKIPPED: python/notebook: %s is not here" % MISSING,
                  flush=True)
            self.skipTest("%s is not here" % MISSING)
        with tempfile.TemporaryDirectory() as where:
            os.environ["QUARRY_TARGET"] = "file:" + os.path.join(where, "db")
            self.fill(os.environ["QUARRY_TARGET"])
            book = nbformat.read(NOTEBOOK, 4)
            nbclient.NotebookClient(book, timeout=120,
                                    kernel_name="python3").execute()
        plots = [o for c in book.cells for o in c.get("outputs", [])
                 if "image/png" in o.get("data", {})]
        self.assertEqual(len(plots), 4)


if __name__ == "__main__":
    unittest.main()

"""quarry search: an index of a small crawl, from the command line and by HTTP."""

import gzip
import http.client
import json
import os
import subprocess
import urllib.parse

from archived_site import FIRST, SECOND, response
from harness import QUARRY, CliTest, main

HOSTILE = "<script>alert(1)</script>"


def page(title, body, links=()):
    return "<!doctype html><title>%s</title><h1>%s</h1><p>%s%s" % (
        title.replace("<", "&lt;"), title.replace("<", "&lt;"), body,
        "".join("<p><a href='%s'>%s</a>" % link for link in links))


def crawl():
    """Pages of three hosts, at two dates."""
    one = "http://one.example/"
    two = "http://www.two.example/"
    return [
        response(one, FIRST, page(
            "Garden tools", "A rake and a spade for the vegetable garden.",
            [(two + "rakes", "the best rakes"), (one + "seeds", "seeds")])),
        response(one + "seeds", FIRST, page(
            "Seeds", "Seeds of peas and beans; sow them in spring.")),
        response(one + "seeds", SECOND, page(
            "Seeds", "Seeds of carrots; sow them in summer.")),
        response(two + "rakes", FIRST, page(
            "Iron tools", "Forged by hand. Spring sale.")),
        response(two + "copy", FIRST, page(
            "Iron tools", "Forged by hand. Spring sale.")),
        response(two + "hostile", FIRST, page(
            HOSTILE, "hostile \x1b[31mtext <b onclick=x>&lt;img src=x&gt;")),
        response(two + "gone", FIRST, page("Gone", "vegetable"),
                 status="404 Not Found"),
        response("http://three.example/ja", FIRST, page(
            "図書館", "東京都の図書館で本を読む。")),
    ]


class SearchTest(CliTest):
    """A table with the crawl and an index of it."""

    def setUp(self):
        super().setUp()
        self.write("crawl.warc.gz",
                   b"".join(gzip.compress(r) for r in crawl()))
        self.ok("import", "warc", "crawl.warc.gz", "--into", "web")
        self.ok("search", "build", "web")
        self.server = None

    def found(self, *query):
        """URLs of the results."""
        out = self.ok("search", "web", *query, "--format", "json")
        return [json.loads(line)["url"] for line in out.splitlines()]

    def refused(self, status, text, *args):
        self.assertIn(text, self.fails(status, *args))

    def serve(self):
        self.server = subprocess.Popen(
            [QUARRY, "search", "serve", "web", "--listen", "127.0.0.1:0"],
            cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.stop)
        line = self.server.stdout.readline().decode().strip()
        self.assertTrue(line.startswith("http://127.0.0.1:"), line)
        self.address = line[len("http://"):].rstrip("/")

    def stop(self):
        if self.server:
            self.server.terminate()
            self.server.communicate()
            self.server = None

    def get(self, path, **headers):
        c = http.client.HTTPConnection(self.address, timeout=60)
        c.request("GET", path, headers={k.replace("_", "-"): v
                                        for k, v in headers.items()})
        answer = c.getresponse()
        body = answer.read().decode()
        c.close()
        return answer, body


class Search(SearchTest):
    def test_order(self):
        """A word in the title counts more than one in the text."""
        self.assertEqual(self.found("seeds")[0], "http://one.example/seeds")

    def test_folding(self):
        """Pages that say the same are one result."""
        self.assertEqual(len(self.found("forged")), 1)
        self.assertEqual(len(self.found("forged", "--all")), 2)

    def test_policy(self):
        """Captures that replay does not show are no results."""
        self.write("list", "block http://one.example/seeds they asked\n")
        self.assertEqual(self.found("carrots", "--block", "list"), [])
        self.assertEqual(len(self.found("carrots")), 1)

    def test_text(self):
        """For people: title, address, date, snippet; nothing that a terminal
        obeys."""
        out = self.ok("search", "web", "hostile")
        self.assertIn("1. " + HOSTILE, out)
        self.assertIn("2020-01-01T00:00:00Z", out)
        self.assertNotIn("\x1b", out)
        out = self.ok("search", "web", "rake", "--format", "csv")
        self.assertTrue(out.startswith("url,time,title,score,row,snippet"))

    def test_mistakes(self):
        """A query that cannot be answered is refused with advice."""
        self.refused(1, "after:soon is no date", "search", "web", "after:soon x")
        self.refused(1, "no word and no site", "search", "web", "+-")
        self.refused(2, "TABLE QUERY", "search", "web")
        self.ok("table", "create", "other", "--family", "x")
        self.refused(1, "quarry search build other", "search", "other", "x")
        self.refused(1, "no table of web pages", "search", "build", "other")
        out = self.run_quarry("search", "web", "vegtable")
        self.assertIn(b"did you mean: vegetable", out.stderr)

    def test_update(self):
        """Only what changed is read again; deletions count."""
        self.write("more.warc", response(
            "http://one.example/more", SECOND, page("More", "a rake, again")))
        self.ok("import", "warc", "more.warc", "--into", "web")
        self.ok("delete", "web", "example.one/")
        report = json.loads(self.ok("search", "build", "web", "--format",
                                    "json"))
        self.assertEqual((report["way"], report["rows_read"],
                          report["removed"]), ("compared", 1, 1))
        self.assertEqual(self.found("rake"), ["http://one.example/more"])
        self.ok("search", "build", "web", "--from-scratch")
        self.assertEqual(self.found("rake"), ["http://one.example/more"])

    def test_changes(self):
        """A table that keeps its changes tells which rows to read."""
        self.ok("table", "alter", "web", "--changes", "1h")
        self.ok("search", "build", "web")
        self.ok("delete", "web", "example.one/seeds")
        report = json.loads(self.ok("search", "build", "web", "--format",
                                    "json"))
        self.assertEqual((report["way"], report["rows"]), ("changes", 1))
        self.assertEqual(self.found("peas before:2021"), [])

    def test_rank(self):
        """PageRank decides between pages that say as much."""
        self.ok("table", "alter", "web", "--add-family", "rank,versions=1")
        self.ok("put", "web", "example.two.www/copy", "rank:=0.5")
        self.ok("search", "build", "web")
        self.assertEqual(self.found("forged"), ["http://www.two.example/copy"])

    def test_drop(self):
        self.ok("search", "drop", "web")
        self.refused(1, "has no search index", "search", "web", "rake")
        self.refused(1, "has no search index", "search", "drop", "web")

    def test_dump(self):
        """Files tell what they are."""
        out = self.ok("dump", "quarry-data/search/web/MANIFEST", "--format",
                      "json")
        number = json.loads(out)["segment"]
        out = self.ok("dump", "quarry-data/search/web/%06d.segment" % number,
                      "--entries", "--format", "json")
        terms = {row["term"]: row["documents"]
                 for row in map(json.loads, out.splitlines())}
        self.assertEqual(terms["rake"], 1)
        self.assertEqual(terms["forged"], 2)

    def test_encrypted(self):
        """In an encrypted directory the index is, too."""
        self.write("key", "00112233445566778899aabbccddeeff" * 2)
        os.chmod(self.path("key"), 0o600)
        self.env["QUARRY_TARGET"] = "file:sealed"
        self.env["QUARRY_ENCRYPTION_KEY"] = self.path("key")
        self.ok("import", "warc", "crawl.warc.gz", "--into", "web")
        self.ok("search", "build", "web")
        self.assertEqual(self.found("rake"), ["http://one.example/"])
        for name in os.listdir(self.path("sealed/search/web")):
            with open(self.path("sealed/search/web/" + name), "rb") as f:
                self.assertNotIn(b"example.one", f.read(), name)


class SearchServer(SearchTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_queries(self):
        """Words, phrases, exclusions, fields, sites and dates."""
        one = "http://one.example/"
        two = "http://www.two.example/"
        for query, want in [
                ("rake", [one]),
                ("RAKE", [one]),
                ("\"vegetable garden\"", [one]),
                ("\"garden vegetable\"", []),
                ("title:tools -iron", [one]),
                ("anchor:rakes", [two + "rakes"]),
                ("\"the best rakes\"", [two + "rakes", one]),
                ("+tools site:two.example", [two + "rakes"]),
                ("tools -site:two.example", [one]),
                ("site:three.example", ["http://three.example/ja"]),
                ("図書館", ["http://three.example/ja"]),
                ("peas", []),
                ("peas before:2021", [one + "seeds"]),
                ("carrots after:2021", [one + "seeds"]),
                ("carrots before:2021", []),
                ("url:seeds", [one + "seeds"]),
                ("gone", [])]:
            with self.subTest(query=query):
                _, body = self.get("/search.json?q=" +
                                   urllib.parse.quote(query))
                urls = [r["url"] for r in json.loads(body)["results"]]
                self.assertCountEqual(urls, want)

    def test_page(self):
        """Results lead to replay; whatever is archived is text."""
        answer, body = self.get("/search?q=rake")
        self.assertEqual(answer.status, 200)
        self.assertIn("href=\"/web/%s/http://one.example/\"" % FIRST, body)
        self.assertIn("<mark>rake</mark>", body)
        answer, body = self.get("/search?q=" + urllib.parse.quote(HOSTILE))
        self.assertNotIn(HOSTILE, body)
        self.assertIn("&lt;script&gt;", body)
        self.assertIn("default-src 'none'",
                      answer.getheader("Content-Security-Policy"))
        answer, body = self.get("/web/%smp_/http://one.example/" % FIRST)
        self.assertIn("Garden tools", body)
        self.assertIn("sandbox", answer.getheader("Content-Security-Policy"))

    def test_json(self):
        _, body = self.get("/search.json?q=rake&limit=1")
        doc = json.loads(body)
        self.assertEqual([r["title"] for r in doc["results"]],
                         ["Garden tools"])
        self.assertIn({"match": "rake"}, doc["results"][0]["snippet"])
        self.assertFalse(doc["more"])
        answer, body = self.get("/search.json?q=after:x")
        self.assertEqual(answer.status, 400)
        self.assertIn("no date", json.loads(body)["error"])
        _, body = self.get("/suggest.json?q=gar")
        self.assertEqual(json.loads(body), ["garden"])

    def test_metrics(self):
        """Queries are counted by their outcome, with their times."""
        for path in ("/", "/search?q=rake", "/search.json?q=rake",
                     "/search.json?q=nothinglikeit", "/search?q=after:x",
                     "/suggest.json?q=gar"):
            self.get(path)
        answer, body = self.get("/metrics")
        self.assertTrue(answer.getheader("Content-Type").startswith(
            "text/plain; version=0.0.4"))
        lines = dict(line.rsplit(" ", 1) for line in body.splitlines()
                     if not line.startswith("#"))
        for name, want in [
                ('queries_total{outcome="found"}', 2),
                ('queries_total{outcome="nothing"}', 1),
                ('queries_total{outcome="refused"}', 1),
                ('queries_total{outcome="failed"}', 0),
                ('results_total', 2), ('index_segments', 1),
                ('index_failures_total', 0),
                ('query_seconds_count{form="page"}', 2),
                ('query_seconds_count{form="json"}', 2),
                ('query_seconds_count{form="suggest"}', 1)]:
            self.assertEqual(float(lines["quarry_search_" + name]), want, name)
        self.assertGreater(float(lines["quarry_search_index_pages"]), 5)
        self.assertLess(float(lines["quarry_search_index_age_seconds"]), 600)
        self.assertIn("process_resident_memory_bytes", lines)

    def test_steps(self):
        _, body = self.get("/search?q=site:example&all=1&from=0")
        self.assertNotIn("Further results", body)
        _, body = self.get("/search?q=site:example&from=10")
        self.assertIn("no further results", body)
        _, body = self.get("/search?q=nothinglikeit")
        self.assertIn("No page here", body)

    def test_others(self):
        """Pages of other sites and archived pages may not ask the index."""
        answer, _ = self.get("/search.json?q=rake",
                             Sec_Fetch_Site="cross-site",
                             Sec_Fetch_Dest="empty")
        self.assertEqual(answer.status, 403)
        answer, _ = self.get("/search?q=rake", Host="evil.example")
        self.assertNotEqual(answer.status, 200)


if __name__ == "__main__":
    main()

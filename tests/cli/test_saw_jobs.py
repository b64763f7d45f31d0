"""The Sawzall programs of jobs/ over a small crawl that was imported: beside
the data and as a job, with the answers known."""

import os

from harness import CliTest, ROOT, main


def record(uri, date, body, kind="text/html", status="200 OK"):
    http = b"HTTP/1.1 %s\r\nContent-Type: %s\r\n\r\n" % (
        status.encode(), kind.encode()) + body.encode()
    head = ("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\n"
            "WARC-Date: %sT00:00:00Z\r\nWARC-Record-ID: <urn:uuid:%s>\r\n"
            "Content-Type: application/http; msgtype=response\r\n"
            "Content-Length: %d\r\n\r\n" % (uri, date, abs(hash((uri, date))),
                                            len(http)))
    return head.encode() + http + b"\r\n\r\n"


HOME = '<html lang="en"><body><a href="/news">News</a> ' \
       '<a href="http://b.example/">Partner</a></body></html>'
NEWS = '<html lang="en"><body><a href="/">Home</a></body></html>'
PARTNER = '<html lang="fr"><body><a href="http://a.example/">Home</a> ' \
          '<a href="http://a.example/news">News</a></body></html>'

CRAWL = [
    record("http://a.example/", "2024-01-01", HOME),
    record("http://a.example/", "2024-02-10", HOME),
    record("http://a.example/news", "2024-01-02", NEWS),
    record("http://a.example/copy", "2024-01-03", NEWS),
    record("http://a.example/logo", "2024-01-03", "x" * 1000, "image/png"),
    record("http://a.example/gone", "2024-01-04", "gone", "text/html",
           "404 Not Found"),
    record("http://b.example/", "2024-01-05", PARTNER),
]


class Crawl(CliTest):
    def setUp(self):
        super().setUp()
        self.write("c.warc", b"".join(CRAWL))
        self.ok("import", "warc", "c.warc", "--into", "web")
        self.ok("table", "split", "web", "example.a/m", "example.b")

    def answers(self, name):
        """The lines of jobs/NAME.szl, which a job gives too."""
        path = os.path.join(ROOT, "jobs", name + ".szl")
        text = self.ok("saw", path, "--table", "web")
        self.ok("job", "run", path, "--overwrite", "-i", "table:web", "-o",
                "file:out")
        parts = sorted(p for p in os.listdir(self.path("out"))
                       if p.startswith("part-"))
        job = ""
        for part in parts:
            with open(os.path.join(self.path("out"), part)) as f:
                job += f.read()
        self.assertEqual(text, job)
        return text

    def has(self, name, *lines):
        text = self.answers(name)
        for line in lines:
            self.assertIn(line + "\n", text)

    def test_top_hosts(self):
        self.has("top_hosts", "pages[] = 6", "hosts[] = 2",
                 "by_pages[] = a.example, 5, 0", "by_pages[] = b.example, 1, 0")

    def test_link_texts(self):
        self.has("link_texts", "texts[] = News, 2, 0", "texts[] = Home, 3, 0",
                 "texts[] = Partner, 1, 0")

    def test_languages(self):
        self.has("languages", "pages[en] = 3", "pages[fr] = 1",
                 "hosts[en] = 1")

    def test_sizes_by_type(self):
        self.has("sizes_by_type", "documents[image/png] = 1",
                 "total[image/png] = 1000",
                 "largest[image/png] = example.a/logo, 1000")

    def test_duplicates(self):
        text = self.answers("duplicates")
        self.assertIn("pages[] = 6\n", text)
        self.assertIn("distinct[] = 5\n", text)
        self.assertRegex(text, r"(?m)^most_copied\[\] = \d+, 2, 0$")

    def test_freshness(self):
        self.has("freshness", "latest[2024-01] = 5", "latest[2024-02] = 1",
                 "captures[2024-01] = 6", "captures_per_page[2] = 1")
        # Captures of one second are told apart by fractions of it.
        self.assertRegex(self.answers("freshness"),
                         r"(?m)^days_between\[\] = (40|39\.9999|40\.0000)")

    def test_http_status(self):
        self.has("http_status", "answers[200] = 5", "answers[404] = 1")

    def test_every_program(self):
        """Each has a test here, is laid out in the usual way, compiles without
        a warning, and is described."""
        names = sorted(f[:-4] for f in os.listdir(os.path.join(ROOT, "jobs"))
                       if f.endswith(".szl"))
        with open(os.path.join(ROOT, "docs", "jobs.md")) as f:
            page = f.read()
        for name in names:
            path = os.path.join(ROOT, "jobs", name + ".szl")
            self.assertTrue(hasattr(self, "test_" + name), name)
            self.assertIn("`%s.szl`" % name, page)
            self.ok("saw", "fmt", "--check", path)
            done = self.run_quarry("saw", "check", path)
            self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    main()

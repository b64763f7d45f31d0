"""quarry import cc: the pages asked for come in, and little else is read: the
requests at a web server with the layout of Common Crawl are counted."""

import gzip
import http.server
import json
import os
import threading

from archived_site import FIRST, SECOND, response
from harness import CliTest, main

CRAWL = "CC-TEST-2024-01"
DATES = (FIRST, SECOND)
HOSTS = 1500
LINES_OF_BLOCK = 2


class Server(http.server.ThreadingHTTPServer):
    """Files below @top, by ranges; every request for bytes is remembered."""

    def __init__(self, top):
        super().__init__(("127.0.0.1", 0), Handler)
        self.top = top
        self.seen = []
        self.bytes = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        path = os.path.join(self.server.top, self.path.lstrip("/"))
        if not os.path.isfile(path):
            self.send_error(404)
            return
        size = os.path.getsize(path)
        given = self.headers.get("Range", "")
        first, last, status = 0, size - 1, 200
        if given.startswith("bytes="):
            a, b = given[6:].split("-")
            first, last, status = int(a), min(int(b or size), size - 1), 206
        with open(path, "rb") as f:
            f.seek(first)
            data = f.read(last - first + 1)
        self.server.seen.append((self.command, self.path, first, len(data)))
        self.send_response(status)
        self.send_header("ETag", '"one"')
        self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range",
                             "bytes %d-%d/%d" % (first, last, size))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.server.bytes += len(data)
            self.wfile.write(data)

    def do_GET(self):
        self.answer(True)

    def do_HEAD(self):
        self.answer(False)

    def log_message(self, *args):
        pass


def surt(host, path):
    return ",".join(reversed(host.split("."))) + ")" + path


class CommonCrawl(CliTest):
    def setUp(self):
        super().setUp()
        self.make_crawl()
        self.server = Server(self.path("crawl"))
        thread = threading.Thread(target=self.server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.base = "http://127.0.0.1:%d/" % self.server.server_address[1]
        if b"built without" in self.run_quarry(
                "fs", "stat", self.base + "x").stderr:
            print("SKIPPED: this quarry was built without libcurl", flush=True)
            self.skipTest("without libcurl")

    def put(self, name, data):
        path = os.path.join(self.path("crawl"), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)

    def make_crawl(self):
        """Pages of many hosts, in four archives; an index in small blocks, so
        that its first level is larger than what is read in one."""
        archives = [bytearray() for _ in range(4)]
        lines = []
        for i in range(HOSTS):
            host = "h%04d.example" % i
            for n, path in enumerate(("/", "/about", "/deep/page?x=1")):
                url = "http://%s%s" % (host, path)
                file = (i + n) % 4
                date = DATES[n % 2]
                record = gzip.compress(response(
                    url, date, "<title>%s</title>%s" % (url, "x" * 200),
                    status="404 Gone" if i % 10 == 9 else "200 OK"), 1)
                lines.append("%s %s %s" % (surt(host, path), date, json.dumps({
                    "url": url, "mime": "text/html",
                    "status": "404" if i % 10 == 9 else "200",
                    "length": str(len(record)),
                    "offset": str(len(archives[file])),
                    "filename": "crawl-data/%s/warc/part-%d.warc.gz" %
                                (CRAWL, file)})))
                archives[file] += record
        lines.sort()
        blocks = bytearray()
        cluster = []
        for i in range(0, len(lines), LINES_OF_BLOCK):
            block = gzip.compress("".join(
                line + "\n" for line in lines[i:i + LINES_OF_BLOCK]).encode(), 1)
            key = " ".join(lines[i].split(" ")[:2])
            cluster.append("%s\tcdx-00000.gz\t%d\t%d\t%d\n" % (
                key, len(blocks), len(block), i // LINES_OF_BLOCK + 1))
            blocks += block
        index = "cc-index/collections/%s/indexes/" % CRAWL
        self.put(index + "cluster.idx", "".join(cluster).encode())
        self.put(index + "cdx-00000.gz", blocks)
        self.lines = lines
        for i, data in enumerate(archives):
            self.put("crawl-data/%s/warc/part-%d.warc.gz" % (CRAWL, i), data)
        self.size = len(blocks) + sum(len(a) for a in archives) + \
            sum(len(c) for c in cluster)

    def cc(self, *args):
        return self.run_quarry("import", "cc", *args, "--crawl", CRAWL,
                               "--base", self.base)

    def listed(self, *args):
        done = self.cc(*args, "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().splitlines()

    def expected(self, fits):
        return [line for line in self.lines
                if fits(line.split(" ")[0], json.loads(line.split(" ", 2)[2]))]

    def test_patterns(self):
        """URLs, beginnings, hosts and domains give the lines that a look at all
        of them gives, wherever they are in the index."""
        for i in 0, 700, HOSTS - 1:
            host = "h%04d.example" % i
            with self.subTest(host=host):
                key = surt(host, "/")
                self.assertEqual(
                    self.listed("http://%s/about" % host),
                    self.expected(lambda s, _: s == key + "about"))
                self.assertEqual(
                    self.listed("https://www.%s/deep/*" % host),
                    self.expected(lambda s, _: s.startswith(key + "deep/")))
                self.assertEqual(
                    self.listed(host),
                    self.expected(lambda s, _: s.startswith(key)))
        self.assertEqual(len(self.listed("*.example", "--limit", "50")), 50)
        self.assertEqual(
            self.listed("*.example", "--limit", "100000", "--status", "404"),
            self.expected(lambda s, o: o["status"] == "404"))
        self.assertEqual(len(self.listed("h0005.example", "--until", "2020")),
                         2)
        self.assertEqual(len(self.listed("h0005.example", "--since", "2021")),
                         1)
        self.assertEqual(self.cc("none.example", "--list").returncode, 1)
        self.assertEqual(self.cc("h0005.example", "--mime", "image/png",
                                 "--list").returncode, 1)

    def test_only_what_is_asked_for(self):
        """A page costs a few requests and a small part of the bytes; captures of
        one archive are read together where they are close."""
        done = self.cc("http://h0700.example/about", "--into", "web")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"1 captures", done.stderr)
        gets = [s for s in self.server.seen if s[0] == "GET"]
        self.assertLess(len(self.server.seen), 16, self.server.seen)
        self.assertLess(self.server.bytes, 200000)
        self.assertLess(self.server.bytes, self.size // 3)
        archives = [s for s in gets if "/warc/" in s[1]]
        self.assertLessEqual(sum(s[3] for s in archives), 1000)
        text = self.ok("get", "web", "example.h0700/about")
        entry = json.loads(self.expected(
            lambda s, _: s == "example,h0700)/about")[0].split(" ", 2)[2])
        self.assertIn("%s:%s" % (entry["filename"].rsplit("/", 1)[1],
                                 entry["offset"]), text)

    def test_many(self):
        """Hundreds of captures come in as an import of the archives gives
        them."""
        done = self.cc("*.example", "--limit", "300", "--into", "web")
        self.assertEqual(done.returncode, 0, done.stderr)
        opened = [s for s in self.server.seen if "/warc/" in s[1]]
        self.assertLess(len(opened), 40)
        top = os.path.join("crawl", "crawl-data", CRAWL, "warc")
        self.ok("import", "warc", top, "--into", "all")
        rows = self.json("scan", "web")
        every = {r["row"]: r for r in self.json("scan", "all")}
        self.assertEqual(len([r for r in rows if any(
            c["family"] == "contents" for c in r["cells"])]), 300)
        for row in rows:
            self.assertEqual(row, every[row["row"]])

    def test_directory(self):
        """A copy on the disk is read alike."""
        done = self.run_quarry("import", "cc", "h0003.example", "--crawl", CRAWL,
                               "--base", "crawl", "--into", "web")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"3 pages", done.stdout)

    def test_hostile_index(self):
        """Paths that lead elsewhere, absurd sizes, damaged blocks and lines that
        are none are refused or left out."""
        index = "cc-index/collections/%s/indexes/" % CRAWL
        line = "example,bad)/%d 20240101000000 %s"
        entries = [{"filename": "../../etc/passwd", "offset": "0",
                    "length": "5"},
                   {"filename": "/etc/passwd", "offset": "0", "length": "5"},
                   {"filename": "a", "offset": "0", "length": "9" * 18},
                   {"filename": "a", "offset": "x", "length": "5"}]
        text = "".join(line % (i, json.dumps(e)) + "\n"
                       for i, e in enumerate(entries)) + "example,bad)/5\n"
        block = gzip.compress(text.encode())
        self.put(index + "cdx-00000.gz", block)
        for cluster, told in [
                ("example,bad)/ 2024\tcdx-00000.gz\t0\t%d\t1\n" % len(block),
                 b"no capture"),
                ("example,bad)/ 2024\tcdx-00000.gz\t0\t%d\t1\n" % (1 << 40),
                 b"no place"),
                ("example,bad)/ 2024\t../x\t0\t10\t1\n", b"no file of it"),
                ("example,bad)/ 2024\tcdx-00000.gz\t5\t60\t1\n", b""),
                ("x" * 200000 + "\n", b""),
                ("example,bad)/ 2024", b"no line")]:
            self.put(index + "cluster.idx", cluster.encode())
            done = self.cc("bad.example", "--into", "web")
            self.assertEqual(done.returncode, 1, cluster[:80])
            self.assertIn(told, done.stderr)
        for wrong in ["--crawl", "../x"], ["--since", "never"], \
                ["--limit", "0"]:
            done = self.run_quarry("import", "cc", "a.example", "--into", "web",
                                   "--base", self.base, *wrong)
            self.assertEqual(done.returncode, 2)
        self.assertEqual(self.cc("http://", "--into", "web").returncode, 1)


main()

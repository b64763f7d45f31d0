"""A small archived site, as WARC records: two dates, redirects, revisits, bodies
in gzip and brotli, images for several screens, style sheets that import others,
frames; and the server that replays it."""

import base64
import gzip
import hashlib
import http.client
import os
import struct
import subprocess
import zlib

from harness import QUARRY, CliTest

HOST = "site.example"
FIRST = "20200101000000"
SECOND = "20210101120000"


def png(red, green, blue):
    """A picture of one pixel."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(bytes([0, red, green, blue]))) +
            chunk(b"IEND", b""))


def brotli(data):
    """@data as a stream of brotli that stores it."""
    head = (len(data) - 1) << 4 | 1 << 20
    return head.to_bytes(3, "little") + data + b"\x03"


def digest(data):
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def date_of(digits):
    return "%s-%s-%sT%s:%s:%sZ" % (digits[:4], digits[4:6], digits[6:8],
                                   digits[8:10], digits[10:12], digits[12:14])


def record(kind, url, digits, block, fields=()):
    name = hashlib.md5((kind + url + digits).encode()).hexdigest()
    lines = ["WARC/1.0", "WARC-Type: " + kind,
             "WARC-Record-ID: <urn:uuid:%s>" % name,
             "WARC-Date: " + date_of(digits), "WARC-Target-URI: " + url,
             "Content-Type: application/http; msgtype=response",
             "Content-Length: %d" % len(block), *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def response(url, digits, body, kind="text/html", status="200 OK", headers=(),
             packing=None):
    if isinstance(body, str):
        body = body.encode()
    packed = body
    headers = list(headers)
    if packing:
        name, pack = packing
        packed = pack(body)
        headers.append("Content-Encoding: " + name)
    head = ["HTTP/1.1 " + status, "Content-Type: " + kind,
            "Content-Length: %d" % len(packed), *headers]
    return record("response", url, digits, "\r\n".join(head).encode() +
                  b"\r\n\r\n" + packed,
                  ["WARC-Payload-Digest: " + digest(packed)])


def revisit(url, digits, original, body, status="200 OK"):
    head = "HTTP/1.1 %s\r\nContent-Type: text/html\r\n\r\n" % status
    return record("revisit", url, digits, head.encode(), [
        "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/"
        "identical-payload-digest",
        "WARC-Refers-To-Target-URI: " + url,
        "WARC-Refers-To-Date: " + date_of(original),
        "WARC-Payload-Digest: " + digest(body)])


GZIP = ("gzip", gzip.compress)
BROTLI = ("br", brotli)

PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>Home %s</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<link rel="stylesheet" href="/style.css" integrity="sha256-AAAA">
<script src="http://site.example/app.js"></script></head>
<body><h1>Home of %s</h1>
<img id="one" src="pic.png" alt="">
<img id="two" srcset="pic.png 1x, /pic2.png 2x" alt="">
<iframe id="inner" src="/frame.html"></iframe>
<a id="out" href="http://other.example/page">other</a>
<p id="script">no script</p></body></html>"""
STYLE = """@import "more.css";
h1 { color: rgb(1, 2, 3); background: url(pic.png); }"""
# It makes no link that is not in the archive.
SCRIPT = """addEventListener("load", () => {
  document.getElementById("script").textContent = "script ran";
});"""
# Tries everything that archived pages may not.
HOSTILE = """<!doctype html><title>hostile</title><p id="done">waiting</p>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<script>
const seen = {};
const attempt = (name, f) => {
  try { seen[name] = String(f()); } catch (e) { seen[name] = "refused"; }
};
attempt("cookie", () => { document.cookie = "a=b"; return document.cookie; });
attempt("storage", () => localStorage.setItem("a", "b"));
attempt("parent", () => parent.document.title);
attempt("top", () => { top.location.hash; return "read"; });
seen.origin = String(self.origin);
const live = new Image();
live.onload = () => { seen.image = "loaded"; };
live.onerror = () => { seen.image = "refused"; };
live.src = "http" + "://127.0.0.1:" + %d + "/live.png";
fetch("/cdx?url=site.example").then(r => r.text())
  .then(t => { seen.own = "read"; }, () => { seen.own = "refused"; })
  .then(() => setTimeout(() => {
    document.getElementById("done").textContent = JSON.stringify(seen);
  }, 500));
</script>"""


def records(live_port=9):
    """All of the site."""
    url = "http://%s/" % HOST
    same = b"<p>the same"
    first = [
        response(url, FIRST, PAGE % ("2020", "2020"), packing=GZIP, headers=[
            "Set-Cookie: session=1; Path=/", "X-Frame-Options: DENY",
            "Content-Security-Policy: default-src 'none'",
            "Strict-Transport-Security: max-age=1"]),
        response(url + "style.css", FIRST, STYLE, "text/css", packing=BROTLI),
        response(url + "more.css", FIRST, "h1 { font-size: 77px; }",
                 "text/css"),
        response(url + "app.js", FIRST, SCRIPT, "text/javascript"),
        response(url + "pic.png", FIRST, png(255, 0, 0), "image/png"),
        response(url + "pic2.png", FIRST, png(0, 255, 0), "image/png"),
        response(url + "frame.html", FIRST,
                 "<title>in</title><p id=p>inner <img src=pic.png>"),
        response(url + "old", FIRST, "moved", status="301 Moved",
                 headers=["Location: /new?a=1"]),
        response(url + "new?a=1", FIRST, "<p>the new place"),
        response(url + "same", FIRST, same),
        response("http://www.%s/alias" % HOST, FIRST, "", status="302 Found",
                 headers=["Location: http://%s/alias" % HOST]),
        response(url + "alias", "20200101000005", "<p>behind the alias"),
        response(url + "gone", FIRST, "<p>no such page",
                 status="404 Not Found"),
        response(url + "bytes", FIRST, bytes(range(256)) * 4,
                 "application/octet-stream"),
        response(url + "wide", FIRST, "\ufeff<p><a href='/x'>wide"
                 .encode("utf-16-le"), "text/html; charset=utf-16"),
        response(url + "kana", FIRST, "<title>\u8868</title><a href=/\u8868>"
                 .encode("shift_jis"), "text/html; charset=Shift_JIS"),
        response(url + "hostile", FIRST, HOSTILE % live_port),
        response(url + "big", FIRST, "<p><a href=/x>y</a>" * 60000),
        response(url + "Case?b=2&a=1", FIRST, "<p>sorted"),
        response(url + "stamp.css?111", FIRST, "p{}", "text/css"),
        response(url + "stamp.php?id=1&_=5", FIRST, "<p>first"),
        response(url + "stream?n=1", FIRST, "x", "application/x-mpegURL"),
        response("http://other.example/page", FIRST, "<title>Other</title>o"),
    ]
    second = [
        response(url, SECOND, PAGE % ("2021", "2021")),
        revisit(url + "same", SECOND, FIRST, same),
        revisit(url + "lost", SECOND, FIRST, b"elsewhere"),
        response(url + "new?a=1", SECOND, "<p>the newer place"),
    ]
    return first, second


class ReplayTest(CliTest):
    """A table with the site, and a server that replays it."""

    def setUp(self):
        super().setUp()
        self.import_site()
        self.server = None
        self.addCleanup(self.stop)

    def import_site(self, live_port=9):
        first, second = records(live_port)
        # The revisits of the second file find their originals in the first.
        self.write("first.warc.gz", b"".join(gzip.compress(r) for r in first))
        self.write("second.warc", b"".join(second))
        self.ok("import", "warc", "first.warc.gz", "--into", "web")
        self.ok("import", "warc", "second.warc", "--into", "web")

    def serve(self, *options):
        """Begin a server; the address is self.address."""
        self.stop()
        self.server = subprocess.Popen(
            [QUARRY, "replay", "web", "--listen", "127.0.0.1:0", *options],
            cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.server.stdout.readline().decode().strip()
        self.assertTrue(line.startswith("http://127.0.0.1:"), line)
        self.address = line[len("http://"):].rstrip("/")
        return self.address

    def stop(self):
        """End it as Ctrl-C does; it is to end well."""
        if not self.server:
            return
        self.server.send_signal(2)
        _, told = self.server.communicate(timeout=120)
        self.server = None
        for sign in (b"Sanitizer", b"runtime error", b"panic at"):
            self.assertNotIn(sign, told, told.decode())

    def get(self, path, method="GET", **headers):
        """(status, headers, body), redirects not followed. The names of headers
        have hyphens for underscores."""
        c = http.client.HTTPConnection(self.address, timeout=120)
        try:
            c.putrequest(method, path, skip_host="Host" in headers)
            for name, value in headers.items():
                c.putheader(name.replace("_", "-"), value)
            c.endheaders()
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def text(self, path, **headers):
        """The body of an answer that is fine."""
        status, _, body = self.get(path, **headers)
        self.assertEqual(status, 200, body)
        return body.decode("utf-8", "replace")


def cluster_tests():
    """The directory of the tests of clusters, which has the browser."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                        "cluster")

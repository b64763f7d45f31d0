#!/usr/bin/env python3
"""A small web on loopback for the demonstration's crawl.

    demo_web.py EDITION [DOCUMENTATION-ROOT]

Serves, as an HTTP proxy, the HTML documentation that Debian packages installed,
each collection as a host of its own, and a portal whose front page is another
one in each EDITION. Prints its port, then runs until standard input ends.

    wget -e use_proxy=yes -e http_proxy=127.0.0.1:PORT http://www.portal.example/
"""

import datetime
import html
import http.server
import mimetypes
import os
import posixpath
import random
import sys
import threading
import urllib.parse

DOCS = sys.argv[2] if len(sys.argv) > 2 else "/usr/share/doc"
EDITION = int(sys.argv[1]) if len(sys.argv) > 1 else 1

# Host -> (directory, title, page to start from).
HOSTS = {
    "docs.python.example": ("python3.11/html", "Python", "index.html"),
    "git.example": ("git/html", "Git", "git.html"),
    "www.postgres.example": ("postgresql-doc-15/html", "PostgreSQL",
                             "index.html"),
    "policy.debian.example": ("debian-policy", "Debian Policy",
                              "policy.html/index.html"),
    "faq.debian.example": ("debian/FAQ", "Debian FAQ", "index.en.html"),
}
PORTAL = "www.portal.example"

# The collections link to their homes in the real web; here they are neighbours.
NEIGHBOURS = [
    (b"https://docs.python.org/3.11/", b"http://docs.python.example/"),
    (b"https://docs.python.org/3/", b"http://docs.python.example/"),
    (b"https://www.postgresql.org/docs/15/", b"http://www.postgres.example/"),
    (b"https://www.postgresql.org/docs/current/",
     b"http://www.postgres.example/"),
    (b"https://git-scm.com/docs/", b"http://git.example/"),
    (b"https://www.debian.org/doc/debian-policy/",
     b"http://policy.debian.example/policy.html/"),
    (b"https://www.debian.org/doc/manuals/debian-faq/",
     b"http://faq.debian.example/"),
]

HEADLINES = [
    "Garbage collection, explained at last",
    "A transaction walks into a bar",
    "Twelve ways to rebase, ranked",
    "Packages, policies and patience",
    "Iterators considered friendly",
    "The index that came in from the cold",
    "Merge conflicts and how to avoid your colleagues",
    "A short history of long options",
]


def pages_of(host):
    """Some pages of a collection, by name: what the portal points at."""
    top = os.path.join(DOCS, HOSTS[host][0])
    return sorted(name for name in os.listdir(top) if name.endswith(".html"))


def front_page():
    """The portal's front page: new headlines with every edition."""
    chance = random.Random(EDITION)
    items = []
    for headline in chance.sample(HEADLINES, 4):
        host = chance.choice(sorted(HOSTS))
        page = chance.choice(pages_of(host))
        items.append('<li><a href="http://%s/%s">%s</a></li>' %
                     (host, urllib.parse.quote(page), html.escape(headline)))
    # The start pages are what the crawl spreads from.
    shelves = ['<li><a href="http://%s/%s">%s</a></li>' % (host, start, title)
               for host, (_, title, start) in sorted(HOSTS.items())]
    shelves += ['<li><a href="http://faq.debian.example/%s/index.%s.html" '
                'hreflang="%s">Debian FAQ (%s)</a></li>' % (l, l, l, l)
                for l in ("de", "fr", "ja")]
    return """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<title>The Portal, edition %d</title></head><body>
<h1>The Portal</h1>
<p>Edition %d. Reading for the day:</p>
<ul>%s</ul>
<h2>The shelves</h2>
<ul>%s</ul>
<p><a href="/about.html">About this portal</a></p>
</body></html>
""" % (EDITION, EDITION, "\n".join(items), "\n".join(shelves))


def about_page():
    return """<!DOCTYPE html>
<html lang="en"><head><title>About the Portal</title></head><body>
<p>A portal to documentation. <a href="/">Front page</a></p></body></html>
"""


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet an answer: Nagle and delayed acknowledgements cost 40 ms each.
    disable_nagle_algorithm = True
    wbufsize = 1 << 20

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", self.date_time_string(
            datetime.datetime(2026, 1, EDITION).timestamp()))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_file(self, top, path):
        name = os.path.normpath(os.path.join(top, path.lstrip("/")))
        if not name.startswith(top) or os.path.isdir(name):
            return self.answer(404, "text/plain", b"no such page\n")
        try:
            with open(name, "rb") as f:
                body = f.read()
        except OSError:
            return self.answer(404, "text/plain", b"no such page\n")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind == "text/html":
            for real, here in NEIGHBOURS:
                body = body.replace(real, here)
        return self.answer(200, kind, body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        host = url.hostname or self.headers.get("Host", "")
        path = posixpath.normpath(urllib.parse.unquote(url.path) or "/")
        if host == PORTAL and path == "/":
            return self.answer(200, "text/html; charset=utf-8",
                               front_page().encode())
        if host == PORTAL and path == "/about.html":
            return self.answer(200, "text/html", about_page().encode())
        if host in HOSTS:
            if path == "/":
                path = HOSTS[host][2]
            return self.answer_file(os.path.join(DOCS, HOSTS[host][0]), path)
        return self.answer(404, "text/plain", b"no such host\n")

    do_HEAD = do_GET

    def log_message(self, *args):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


main()

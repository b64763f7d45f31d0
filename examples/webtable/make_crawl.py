#!/usr/bin/env python3
"""A crawl of a small web that does not exist: `make_crawl.py PAGES` writes a web
archive (WARC 1.1) to standard output, the same every time."""

import random
import sys

HOSTS = ["www.harbour.example", "news.harbour.example", "wiki.knots.example",
         "www.bread.example", "shop.bread.example", "blog.chess.example"]
WORDS = """anchor bakery bishop boat bread captain castle chart checkmate cleat
dough engine flour gambit harbour hull island jetty keel knight knot ledger
lighthouse loaf mast morning oven pawn queen rope rudder rye sail salt sea
splice storm tide voyage water wheat whistle wind yeast""".split()


def record(kind, fields, body):
    head = "WARC/1.1\r\nWARC-Type: %s\r\n" % kind
    for name, value in fields:
        head += "%s: %s\r\n" % (name, value)
    head += "Content-Length: %d\r\n\r\n" % len(body)
    return head.encode() + body + b"\r\n\r\n"


def page(r, urls, number):
    # Low numbers are linked to most, as the first pages of a site are.
    links = {int(len(urls) * r.random() ** 3) for _ in range(r.randrange(2, 7))}
    links.discard(number)
    text = " ".join(r.choice(WORDS) for _ in range(r.randrange(30, 90)))
    title = " ".join(r.choice(WORDS) for _ in range(2))
    anchors = "".join(
        '<p><a href="%s">%s %s</a></p>\n' % (
            urls[n], r.choice(WORDS), r.choice(WORDS)) for n in sorted(links))
    html = ("<!DOCTYPE html>\n<html lang=\"en\"><head><title>%s</title></head>\n"
            "<body><h1>%s</h1>\n<p>%s</p>\n%s</body></html>\n" % (
                title, title, text, anchors)).encode()
    return (b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
            b"Content-Length: %d\r\n\r\n" % len(html)) + html


def main():
    r = random.Random(11)
    urls = ["http://%s/%s" % (HOSTS[n % len(HOSTS)],
                              "" if n < len(HOSTS) else "page%d" % n)
            for n in range(int(sys.argv[1]))]
    out = sys.stdout.buffer
    for n, url in enumerate(urls):
        out.write(record("response", [
            ("WARC-Record-ID", "<urn:uuid:00000000-0000-4000-8000-%012d>" % n),
            ("WARC-Target-URI", url),
            ("WARC-Date", "2024-05-01T00:%02d:%02dZ" % (n // 60 % 60, n % 60)),
            ("Content-Type", "application/http; msgtype=response")],
            page(r, urls, n)))


main()

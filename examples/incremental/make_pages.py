#!/usr/bin/env python3
"""A web that changes, and does not exist: `make_pages.py PAGES --edition N` writes
a web archive (WARC 1.1) to standard output, the same every time. Edition 0 has all
pages; edition N those that have changed since N - 1: `--share` of them, chosen at
random. Of a page that changes `--rewrite` of its ten paragraphs are written again,
each with a link. One page in ten is a copy of another one as it was at first."""

import argparse
import itertools
import random
import sys

HOSTS = ["www.harbour.example", "news.harbour.example", "wiki.knots.example",
         "www.bread.example", "shop.bread.example", "blog.chess.example"]
STEMS = """anchor bakery bishop boat bread captain castle chart checkmate cleat
dough engine flour gambit harbour hull island jetty keel knight knot ledger
lighthouse loaf mast morning oven pawn queen rope rudder rye sail salt sea
splice storm tide voyage water wheat whistle wind yeast""".split()
PARAGRAPHS = 10


def vocabulary(size):
    """The words, and their weights added up: the frequency of the n-th is 1/n."""
    words = ["%s%s" % (STEMS[i % len(STEMS)], "" if i < len(STEMS) else i)
             for i in range(size)]
    return words, list(itertools.accumulate(1 / (i + 1) for i in range(size)))


def record(url, number, edition, html):
    body = (b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
            b"Content-Length: %d\r\n\r\n" % len(html)) + html
    head = ("WARC/1.1\r\nWARC-Type: response\r\n"
            "WARC-Record-ID: <urn:uuid:00000000-%04d-4000-8000-%012d>\r\n"
            "WARC-Target-URI: %s\r\nWARC-Date: 2024-05-%02dT%02d:%02d:%02dZ\r\n"
            "Content-Type: application/http; msgtype=response\r\n"
            "Content-Length: %d\r\n\r\n" % (
                edition, number, url, edition + 1, number // 3600 % 24,
                number // 60 % 60, number % 60, len(body)))
    return head.encode() + body + b"\r\n\r\n"


class Web:
    def __init__(self, options):
        self.o = options
        self.words, self.weights = vocabulary(options.vocabulary)
        self.urls = ["http://%s/%s" % (
            HOSTS[n % len(HOSTS)], "" if n < len(HOSTS) else "page%d" % n)
            for n in range(options.pages)]

    def changes(self, number, edition):
        r = random.Random("change %d %d" % (number, edition))
        return edition == 0 or r.random() < self.o.share

    def paragraph(self, number, index, written):
        """Paragraph @index as it was written in edition @written."""
        r = random.Random("text %d %d %d" % (number, index, written))
        words = r.choices(self.words, cum_weights=self.weights,
                          k=max(1, self.o.words // PARAGRAPHS))
        # Low numbers are linked to most, as the first pages of a site are.
        target = int(len(self.urls) * r.random() ** 3)
        return '<p>%s <a href="%s">%s</a></p>\n' % (
            " ".join(words), self.urls[target], " ".join(words[:2]))

    def page(self, number, edition):
        written = [0] * PARAGRAPHS
        source = number
        if number % 10 == 9:
            source = number - 9 + number // 10 % 5
        for e in range(1, edition + 1):
            if not self.changes(number, e):
                continue
            source = number
            first = random.Random("place %d %d" % (number, e)).randrange(10)
            for i in range(self.o.rewrite):
                written[(first + i) % PARAGRAPHS] = e
        text = "".join(self.paragraph(source, i, w)
                       for i, w in enumerate(written))
        return ("<!DOCTYPE html>\n<html lang=\"en\"><body>\n%s</body></html>\n"
                % text).encode()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("pages", type=int)
    p.add_argument("--edition", type=int, default=0)
    p.add_argument("--share", type=float, default=0.05)
    p.add_argument("--rewrite", type=int, default=1)
    p.add_argument("--words", type=int, default=60)
    p.add_argument("--vocabulary", type=int, default=1000)
    o = p.parse_args()
    web = Web(o)
    for n in range(o.pages):
        if web.changes(n, o.edition):
            sys.stdout.buffer.write(record(web.urls[n], n, o.edition,
                                           web.page(n, o.edition)))


main()

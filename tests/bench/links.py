#!/usr/bin/env python3
"""Links and PageRank of a crawl as people do it with a streaming pipeline, the
peer of the jobs link_graph and page_rank:

    gzip -dc FILE… | links.py links | LC_ALL=C sort | uniq -c | links.py rank 10

`links` reads web archives and writes lines "source target"; `rank` reads counted
lines and writes "page rank", best first."""

import re
import sys
from urllib.parse import urljoin

ANCHOR = re.compile(rb"<a\b[^>]*?\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|"
                    rb"([^\s>]+))", re.I)
DAMPING = 0.85


def records(stream):
    """Type, URI and block of each record."""
    while True:
        line = stream.readline()
        if not line:
            return
        if not line.startswith(b"WARC/"):
            continue
        kind, uri, length = b"", b"", 0
        while True:
            line = stream.readline().rstrip(b"\r\n")
            if not line:
                break
            name, _, value = line.partition(b":")
            name, value = name.lower(), value.strip()
            if name == b"warc-type":
                kind = value
            elif name == b"warc-target-uri":
                uri = value.strip(b"<>")
            elif name == b"content-length":
                length = int(value)
        yield kind, uri, stream.read(length)


def links():
    out = sys.stdout.buffer
    for kind, uri, block in records(sys.stdin.buffer):
        head, _, body = block.partition(b"\r\n\r\n")
        if kind != b"response" or b"html" not in head.lower():
            continue
        source = uri.decode("utf-8", "replace")
        for found in ANCHOR.finditer(body):
            href = next(g for g in found.groups() if g is not None)
            try:
                target = urljoin(source, href.decode("utf-8", "replace"))
            except ValueError:
                continue
            target = target.partition("#")[0]
            if target.startswith("http") and not re.search(r"\s", target):
                out.write(("%s %s\n" % (source, target)).encode())


def rank(iterations):
    targets, pages = {}, set()
    for line in sys.stdin:
        words = line.split()
        if len(words) == 3:
            targets.setdefault(words[1], []).append(words[2])
            pages.update(words[1:])
    ranks = dict.fromkeys(pages, 1.0 / len(pages))
    for _ in range(iterations):
        fresh = dict.fromkeys(pages, 0.0)
        for source, out in targets.items():
            share = ranks[source] / len(out)
            for target in out:
                fresh[target] += share
        lost = 1.0 - sum(fresh.values())
        base = (1.0 - DAMPING + DAMPING * lost) / len(pages)
        ranks = {p: base + DAMPING * r for p, r in fresh.items()}
    for page, value in sorted(ranks.items(), key=lambda r: (-r[1], r[0])):
        print(page, "%.12f" % value)


if sys.argv[1] == "links":
    links()
else:
    rank(int(sys.argv[2]))

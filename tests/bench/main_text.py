#!/usr/bin/env python3
"""The main text of archived pages beside trafilatura and resiliparse: how much
the three agree, and the CPU each takes.

    python3 -m venv V && V/bin/pip install warcio trafilatura resiliparse lxml_html_clean
    V/bin/python tests/bench/main_text.py build/release/quarry FILE.warc.gz…

Agreement is F1 of words, averaged over pages, to trafilatura's text and to
resiliparse's; pages that only one of the programs reads count too."""

import collections
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import bytes_to_str, detect_encoding
from resiliparse.parse.html import HTMLTree
import trafilatura
from warcio.archiveiterator import ArchiveIterator


def pages_of(paths):
    """(row key, page as text) of each answer that is HTML."""
    for path in paths:
        with open(path, "rb") as f:
            for record in ArchiveIterator(f):
                if record.rec_type != "response" or not record.http_headers:
                    continue
                kind = record.http_headers.get_header("Content-Type") or ""
                if "html" not in kind:
                    continue
                body = record.content_stream().read()
                uri = record.rec_headers.get_header("WARC-Target-URI")
                yield key_of(uri), bytes_to_str(body, detect_encoding(body))


def key_of(uri):
    found = re.match(r"https?://([^/:?#]+)(?::\d+)?([^#]*)", uri)
    host = ".".join(reversed(found.group(1).lower().split(".")))
    return host + (found.group(2) or "/")


def words_of(text):
    return collections.Counter(re.findall(r"\w+", text.lower()))


def agreement(text, reference):
    """Precision, recall and F1 of words."""
    a, b = words_of(text), words_of(reference)
    if not a and not b:
        return 1, 1, 1
    both = sum((a & b).values())
    precision = both / max(1, sum(a.values()))
    recall = both / max(1, sum(b.values()))
    f1 = 2 * precision * recall / (precision + recall) if both else 0
    return precision, recall, f1


def timed(function, text):
    began = time.process_time()
    return function(text) or "", time.process_time() - began


def ours_of(quarry, paths):
    """Texts by row key, and the CPU of the job."""
    with tempfile.TemporaryDirectory() as dir:
        command = [quarry, "-t", "file:%s/store" % dir, "job", "run",
                   "main_text", "--output", "file:%s/out" % dir]
        for path in paths:
            command += ["--input", "warc:" + path]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        texts = {}
        for part in glob.glob(os.path.join(dir, "out", "part-*")):
            for line in open(part, errors="replace"):
                key, _, text = line.rstrip("\n").split("\t", 2)
                texts[key] = text
    return texts, after.ru_utime + after.ru_stime - \
        before.ru_utime - before.ru_stime


def main():
    quarry, paths = sys.argv[1], sys.argv[2:]
    ours, ours_cpu = ours_of(quarry, paths)
    sums = collections.defaultdict(lambda: [0, 0, 0])
    cpu = {"trafilatura": 0, "resiliparse": 0, "quarry": ours_cpu}
    count = size = 0
    for key, page in pages_of(paths):
        first, took = timed(trafilatura.extract, page)
        cpu["trafilatura"] += took
        second, took = timed(lambda html: extract_plain_text(
            HTMLTree.parse(html), main_content=True, alt_texts=False), page)
        cpu["resiliparse"] += took
        text = ours.get(key, "")
        count += 1
        size += len(page)
        for name, pair in (("quarry to trafilatura", (text, first)),
                           ("resiliparse to trafilatura", (second, first)),
                           ("quarry to resiliparse", (text, second))):
            for i, value in enumerate(agreement(*pair)):
                sums[name][i] += value
    print("%d pages, %.1f MB" % (count, size / 1e6))
    for name, values in sums.items():
        print("%-28s precision %.3f recall %.3f F1 %.3f" %
              ((name,) + tuple(v / count for v in values)))
    for name, seconds in cpu.items():
        print("%-28s %.2f s of CPU" % (name, seconds))


main()

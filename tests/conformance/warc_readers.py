#!/usr/bin/env python3
"""What `export` writes as WARC, other readers read: FastWARC and warcio.

    QUARRY_WARC_PYTHON=VENV/bin/python tests/conformance/warc_readers.py QUARRY

Pages that make readers stumble, of an ARC made here, are imported and exported;
each reader has to find every record, its HTTP head and, where it checks them,
its digests. Without either package (pip install fastwarc warcio) the test is
skipped, and says so; QUARRY_WARC_PYTHON names a python that has them.
"""
import os
import subprocess
import sys
import tempfile

PAGES = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>as it should be",
    b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n" + b"lines\n" * 20000,
    b"HTTP/1.1 200 OK\nServer: a\r\nX: b\n\n" + b"both\n" * 20000,
    b"HTTP/1.1 200 OK\r\nX-Long: " + b"l" * 60000 + b"\r\n\r\nbehind",
    b"HTTP/1.1 200 OK\r\nX-Cut: " + b"c" * 90000,
    b"HTTP/1.0 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot packed",
    b"<html>no head, and no end of a line" + b" at all" * 20000,
    b"<html>\n" + b"no head, many lines\n" * 10000,
    bytes(range(256)) * 400,
    b"",
]


def arc():
    head = (b"1 0 Test\nURL IP-address Archive-date Content-type "
            b"Archive-length\n\n")
    out = [b"filedesc://x.arc 0.0.0.0 20080101000000 text/plain %d\n%s\n" %
           (len(head), head)]
    for i, page in enumerate(PAGES):
        out.append(b"http://h%d.example/ 1.2.3.4 20080101000000 text/html %d\n"
                   b"%s\n" % (i, len(page), page))
    return b"".join(out)


def by_fastwarc(path):
    from fastwarc.warc import ArchiveIterator
    count = 0
    with open(path, "rb") as f:
        for record in ArchiveIterator(f, strict_mode=True, parse_http=False):
            if "WARC-Block-Digest" in record.headers:
                assert record.verify_block_digest(), record.headers
    with open(path, "rb") as f:
        for record in ArchiveIterator(f, strict_mode=True, parse_http=True):
            record.reader.read()
            count += 1
    return count


def by_warcio(path):
    from warcio.archiveiterator import ArchiveIterator
    count = 0
    with open(path, "rb") as f:
        for record in ArchiveIterator(f, check_digests="raise"):
            record.content_stream().read()
            count += 1
    return count


def main(quarry):
    other = os.environ.pop("QUARRY_WARC_PYTHON", None)
    if other:
        return subprocess.run([other, __file__, quarry], check=False).returncode
    readers = []
    for name, reader in (("fastwarc", by_fastwarc), ("warcio", by_warcio)):
        try:
            __import__(name)
            readers.append((name, reader))
        except ImportError:
            print("SKIPPED: %s is not installed (QUARRY_WARC_PYTHON)" % name)
    if not readers:
        return 77
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        with open("x.arc", "wb") as f:
            f.write(arc())
        run = [quarry, "-q", "-t", "file:store"]
        subprocess.run(run + ["import", "warc", "x.arc", "--into", "web"],
                       check=True)
        counts = set()
        for name in ("x.warc", "x.warc.gz"):
            subprocess.run(run + ["export", "web", name], check=True)
            for who, reader in readers:
                counts.add(reader(name))
                print("%s: %s read" % (who, name))
    # A warcinfo, the pages, and three heads apart.
    assert counts == {1 + len(PAGES) + 3}, counts
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.realpath(sys.argv[1])))

"""quarry replay beside pywb on the same archives: the same captures in the index,
and the same pages seen in Chromium.

    python3 tests/engines/pywb.py QUARRY PYWB-PROGRAMS ARCHIVE… [-- PICTURES]

PYWB-PROGRAMS is a venv's bin (pip install pywb). Each capture of pywb's index is
looked for by the CDX API, and its fields are compared. Pages of HTML are shown by
both, PAGES_EACH of an archive, and their pictures compared without the banners;
those that differ are kept in PICTURES, if it is given. The status is 1 where a
capture is missing or a field differs in a way that KNOWN does not explain.
"""

import base64
import collections
import http.client
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import zlib

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
for place in (("tests", "cluster"), ("scripts",)):
    sys.path.insert(0, os.path.join(ROOT, *place))
from browser import ELEMENT, Browser, missing  # noqa: E402
from picture_files import unfilter  # noqa: E402

FIELDS = ("urlkey", "timestamp", "url", "mime", "status", "digest")
# Of a field that pywb has and replay has not: why.
KNOWN = {
    "digest": "the archive has none; pywb makes one of the body",
    "status": "dns: records have none; pywb says 200",
}
PAGES_EACH = 3
WIDTH, HEIGHT = 1000, 700
# A pixel differs if a colour does by more than this: text is not drawn alike
# twice where it moves.
SHADES = 24
WAIT_SECONDS = 60


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# --- both servers ------------------------------------------------------------

def start_pywb(programs, directory, archives):
    """(the process, its port, the lines of its index)"""
    collection = os.path.join(directory, "collections", "w")
    for name in ("archive", "indexes"):
        os.makedirs(os.path.join(collection, name))
    lines = []
    for archive in archives:
        told = subprocess.run([os.path.join(programs, "cdx-indexer"), "-j", "-s",
                               archive], capture_output=True, text=True)
        if told.returncode:
            print("pywb cannot read %s: left out" % os.path.basename(archive))
            continue
        os.symlink(archive, os.path.join(collection, "archive",
                                         os.path.basename(archive)))
        lines += [x for x in told.stdout.splitlines() if not x.startswith(" CDX")]
    with open(os.path.join(collection, "indexes", "index.cdxj"), "w") as f:
        f.write("".join(x + "\n" for x in sorted(lines)))
    port = free_port()
    process = subprocess.Popen(
        [os.path.join(programs, "wayback"), "-b", "127.0.0.1", "-p", str(port)],
        cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(10 * WAIT_SECONDS):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.1)
    return process, port, lines


def start_quarry(quarry, directory, archives):
    target = "file:" + os.path.join(directory, "store")
    subprocess.run([quarry, "-t", target, "import", "warc", *archives, "--into",
                    "web", "-q"], check=True, stdout=subprocess.DEVNULL)
    process = subprocess.Popen(
        [quarry, "-t", target, "replay", "web", "-q", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline().strip().rstrip("/")
                        .rsplit(":", 1)[1])


# --- captures ----------------------------------------------------------------

def parse(line):
    key, date, rest = line.split(" ", 2)
    return dict(json.loads(rest), urlkey=key, timestamp=date)


def our_index(port, lines):
    """Captures by file and place: what the CDX API answers for all hosts, and
    for URLs that have none."""
    out = {}
    urls = {x["url"] for x in lines}
    hosts = {urllib.parse.urlsplit(u).hostname for u in urls} - {None}
    asked = [(h, "host") for h in sorted(hosts)]
    asked += [(u, "exact") for u in sorted(urls)
              if not urllib.parse.urlsplit(u).hostname]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    for url, match in asked:
        connection.request("GET", "/cdx?output=json&matchType=%s&url=%s" % (
            match, urllib.parse.quote(url, safe="")))
        for line in connection.getresponse().read().decode().splitlines():
            x = json.loads(line)
            out[x["filename"], x["offset"]] = x
    return out


def compare_captures(port, lines):
    """How many differ in a way that is not known."""
    counts, bad = collections.Counter(), 0
    ours = our_index(port, lines)
    for x in lines:
        mine = ours.get((x["filename"], x["offset"]))
        if mine is None:
            print("  missing: %s %s" % (x["timestamp"], x["url"]))
            bad += 1
            continue
        same = True
        for field in FIELDS:
            if x.get(field) == mine.get(field):
                continue
            same = False
            if field not in mine and (field == "digest" or field == "status" and
                                      x["url"].startswith("dns:")):
                counts["without a %s" % field] += 1
                continue
            print("  %s: pywb %s, replay %s: %s" % (
                field, x.get(field), mine.get(field), x["url"]))
            bad += 1
        counts["the same"] += same
    print("captures: %d: %s, %d otherwise" % (
        len(lines), ", ".join("%d %s" % (n, k) for k, n in counts.items()), bad))
    for field, why in KNOWN.items():
        print("  without a %s: %s" % (field, why))
    return bad


# --- pages -------------------------------------------------------------------

def pages_of(lines):
    """Pages to look at: whole ones of HTML, the first of each archive."""
    out = collections.defaultdict(list)
    for x in sorted(lines, key=lambda x: x["timestamp"]):
        if x.get("mime") == "text/html" and x.get("status") == "200" and \
                int(x["length"]) > 1500 and "robots.txt" not in x["url"] and \
                len(out[x["filename"]]) < PAGES_EACH:
            out[x["filename"]].append(x)
    return [x for of in out.values() for x in of]


def picture(b, url, frame_id):
    """The frame's picture as PNG, once it does not change any more."""
    b.size(WIDTH, HEIGHT + 60)
    b.open(url)
    frame = None
    for _ in range(50):
        frame = b.run("return document.getElementById('%s')" % frame_id)
        if frame:
            break
        time.sleep(0.2)
    if not frame:
        return None
    b.size(WIDTH, b.run("return innerHeight - arguments[0].clientHeight + %d" %
                        HEIGHT, frame))
    last = None
    for _ in range(8):
        time.sleep(1)
        now = b.call("GET", "%s/element/%s/screenshot" % (b.session,
                                                          frame[ELEMENT]))
        if now == last:
            break
        last = now
    return base64.b64decode(last)


def pixels(png):
    """(width, rows of RGB)"""
    width, _, _, colours = struct.unpack(">IIBB", png[16:26])
    size = {2: 3, 6: 4}[colours]
    data, at = b"", 8
    while at < len(png):
        length, = struct.unpack(">I", png[at:at + 4])
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    rows = []
    for row in unfilter(zlib.decompress(data), size * width, size):
        if size == 4:
            del row[3::4]
        rows.append(bytes(row))
    return width, rows


def difference(a, b):
    """The share of pixels that differ."""
    if a == b:
        return 0.0
    (wa, ra), (wb, rb) = pixels(a), pixels(b)
    width, height = min(wa, wb), min(len(ra), len(rb))
    count = 0
    for x, y in zip(ra, rb):
        if x[:3 * width] == y[:3 * width]:
            continue
        for i in range(0, 3 * width, 3):
            count += any(abs(x[i + k] - y[i + k]) > SHADES for k in range(3))
    return count / (width * height)


def compare_pages(lines, port, their_port, pictures, directory):
    shares = []
    with Browser(os.path.join(directory, "browser")) as b:
        for x in pages_of(lines):
            path = "%s/%s" % (x["timestamp"], x["url"])
            ours = picture(b, "http://127.0.0.1:%d/web/%s" % (port, path),
                           "replay")
            theirs = picture(b, "http://127.0.0.1:%d/w/%s" % (their_port, path),
                             "replay_iframe")
            if not ours or not theirs:
                print("  no frame: %s" % path)
                continue
            share = difference(ours, theirs)
            shares.append(share)
            if share > 0.001:
                print("  %.1f %% of the pixels: %s" % (100 * share, path))
                for name, png in (("quarry", ours), ("pywb", theirs)):
                    if pictures:
                        with open(os.path.join(pictures, "%02d-%s.png" % (
                                len(shares), name)), "wb") as f:
                            f.write(png)
    print("pages: %d looked at, %d the same to 0.1 %% of the pixels" % (
        len(shares), sum(s <= 0.001 for s in shares)))


def main():
    arguments = sys.argv[1:]
    pictures = None
    if "--" in arguments:
        at = arguments.index("--")
        pictures = arguments[at + 1]
        os.makedirs(pictures, exist_ok=True)
        del arguments[at:]
    quarry, programs, *archives = map(os.path.abspath, arguments)
    directory = tempfile.mkdtemp(prefix="quarry-pywb-")
    processes = []
    try:
        theirs, their_port, lines = start_pywb(programs, directory, archives)
        processes.append(theirs)
        ours, port = start_quarry(quarry, directory, archives)
        processes.append(ours)
        lines = [parse(x) for x in lines]
        bad = compare_captures(port, lines)
        if missing():
            print("SKIPPED: pages: " + missing())
        else:
            compare_pages(lines, port, their_port, pictures, directory)
    finally:
        for process in processes:
            process.terminate()
            process.wait()
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

"""A WACZ is imported and exported whole: the same cells, digests that fit, an
index of what is in it; one that lies is refused or reported, and takes no
memory. CDXJ, WET and WAT say what the table says."""

import gzip
import hashlib
import json
import os
import struct
import subprocess
import unittest
import zipfile

from archived_site import digest, response
from harness import CliTest, main, shared

PAGE = ("<html><head><title>Front &amp; more</title><meta name=author "
        "content='A B'><link rel=stylesheet href=/s.css></head><body><nav>Menu"
        "</nav><p>The quick brown fox jumps over the lazy dog while seven "
        "wizards prepare a jug. <a href='/next?a=1&amp;b=2'>Next <b>page</b></a>"
        "<img src=i.png alt=Fox></body></html>")
DATES = ("20200101000000", "20210101120000")


def archive():
    return b"".join(
        gzip.compress(record) for record in (
            response("http://site.example/", DATES[0], PAGE),
            response("http://site.example/", DATES[1], PAGE + "<p>Second"),
            response("http://site.example/moved", DATES[0], "", "text/html",
                     "301 Moved"),
            response("http://other.example/i.png", DATES[0], b"\x89PNG\r\n",
                     "image/png")))


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Wacz(CliTest):
    def pack(self, name, members, method=zipfile.ZIP_STORED, package=True):
        """A WACZ of @members, with their digests."""
        with zipfile.ZipFile(self.path(name), "w", method) as z:
            for path, data in members.items():
                z.writestr(path, data)
            if package:
                text = json.dumps({"profile": "data-package", "resources": [
                    {"path": path, "name": path, "bytes": len(data),
                     "hash": sha256(data)} for path, data in members.items()]})
                z.writestr("datapackage.json", text)
                z.writestr("datapackage-digest.json", json.dumps(
                    {"path": "datapackage.json",
                     "hash": sha256(text.encode())}))
        return name

    def cells(self, table):
        return [line for line in self.ok("scan", table, "--format", "json")
                .splitlines()]

    def site(self):
        with open(self.path("site.warc.gz"), "wb") as f:
            f.write(archive())
        self.ok("import", "site.warc.gz", "--into", "web")

    def test_round_trip(self):
        """Export and import give the same cells, and the file is a whole ZIP
        whose digests, index and pages are right."""
        self.site()
        self.ok("export", "web", "out.wacz")
        self.ok("import", "out.wacz", "--into", "back")
        self.assertEqual(self.cells("web"), self.cells("back"))
        with zipfile.ZipFile(self.path("out.wacz")) as z:
            self.assertIsNone(z.testzip())
            data = {i.filename: z.read(i) for i in z.infolist()}
            self.assertEqual({i.compress_type for i in z.infolist()}, {0})
        package = json.loads(data["datapackage.json"])
        self.assertEqual(package["wacz_version"], "1.1.1")
        for r in package["resources"]:
            self.assertEqual(r["hash"], sha256(data[r["path"]]))
            self.assertEqual(r["bytes"], len(data[r["path"]]))
        self.assertEqual(json.loads(data["datapackage-digest.json"])["hash"],
                         sha256(data["datapackage.json"]))
        lines = gzip.decompress(data["indexes/index.cdx.gz"]).splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines, sorted(lines))
        for line in lines:
            key, date, text = line.split(b" ", 2)
            entry = json.loads(text)
            at = int(entry["offset"])
            member = data["archive/data.warc.gz"][at:at + int(entry["length"])]
            head, _, block = gzip.decompress(member).partition(b"\r\n\r\n")
            self.assertIn(("WARC-Target-URI: %s\r\n" % entry["url"]).encode(),
                          head)
            body = block[:-4].partition(b"\r\n\r\n")[2]
            self.assertEqual(entry["digest"], digest(body))
        pages = [json.loads(p) for p in
                 data["pages/pages.jsonl"].splitlines()]
        self.assertEqual(pages[0]["format"], "json-pages-1.0")
        self.assertEqual([(p["url"], p["title"]) for p in pages[1:]],
                         [("http://site.example/", "Front & more")] * 2)

    def test_packings(self):
        """Stored and deflated members, several archives, one of them in a
        folder of its own."""
        data = archive()
        third = len(gzip.compress(response("http://site.example/", DATES[0],
                                           PAGE)))
        for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
            name = self.pack("m%d.wacz" % method, {
                "archive/a.warc.gz": data[:third],
                "archive/b.warc.gz": data[third:],
                "pages/pages.jsonl": b"{}\n", "archive/notes.txt": b"x"},
                method)
            text = self.ok("import", "warc", name, "--into", "w%d" % method)
            self.assertIn("4 records, 4 pages", text)
            self.assertIn(name + "/b.warc.gz:", self.ok(
                "get", "w%d" % method, "example.other/i.png"))

    def test_wrong_digests(self):
        """A difference to datapackage.json is reported, and --strict stops."""
        data = archive()
        name = self.pack("lie.wacz", {"archive/a.warc.gz": data})
        with zipfile.ZipFile(self.path("lie2.wacz"), "w") as z:
            z.writestr("archive/a.warc.gz", data)
            z.writestr("datapackage.json", json.dumps({"resources": [
                {"path": "archive/a.warc.gz", "hash": sha256(b"other")},
                {"path": "archive/gone.warc.gz", "hash": sha256(b"")}]}))
        self.assertNotIn(b"digest", self.run_quarry(
            "import", name, "--into", "a").stderr)
        done = self.run_quarry("import", "lie2.wacz", "--into", "b")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"its digest differs from datapackage.json", done.stderr)
        self.assertIn(b"gone.warc.gz: is in datapackage.json and not in the ZIP",
                      done.stderr)
        self.fails(1, "import", "lie2.wacz", "--into", "c", "--strict")

    def test_hostile(self):
        """Overlaps, directories that promise millions, cut and flipped files:
        an error, or damage that is told, and no more memory."""
        data = archive()
        name = self.pack("good.wacz", {"archive/a.warc.gz": data})
        with open(self.path(name), "rb") as f:
            good = f.read()
        end = good.rindex(b"PK\x05\x06")
        at = struct.unpack("<I", good[end + 16:end + 20])[0]
        first = good[at:good.index(b"PK\x01\x02", at + 4)]
        many = good[:at] + first * 200 + struct.pack(
            "<4sHHHHIIH", b"PK\x05\x06", 0, 0, 200, 200, len(first) * 200, at, 0)
        promise = good[:end] + struct.pack(
            "<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, 1 << 40, 1 << 40,
            1 << 50, at) + struct.pack("<4sIQI", b"PK\x06\x07", 0, end, 1) + \
            good[end:]
        cases = {"many": many, "promise": promise, "cut": good[:end - 20],
                 "head": good[:30], "empty": b"PK\x05\x06" + bytes(18)}
        for case, content in cases.items():
            with open(self.path(case + ".wacz"), "wb") as f:
                f.write(content)
            done = self.run_quarry("import", "warc", case + ".wacz", "--into",
                                   "t" + case)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, b"ZIP", case)
        for i in range(0, len(good), 97):
            with open(self.path("flip.wacz"), "wb") as f:
                f.write(good[:i] + bytes([good[i] ^ 0x55]) + good[i + 1:])
            done = self.run_quarry("import", "warc", "flip.wacz", "--into",
                                   "flip")
            self.assertIn(done.returncode, (0, 1), done.stderr)
        self.pack("no.wacz", {"data/x.txt": b"x"})
        self.assertIn(b"no WACZ", self.run_quarry("import", "no.wacz", "--into",
                                                  "t").stderr)

    def test_index(self):
        """CDXJ of a table names the places in the archives imported."""
        self.site()
        self.ok("export", "web", "out.cdxj")
        with open(self.path("out.cdxj")) as f:
            lines = f.read().splitlines()
        self.assertEqual(lines, sorted(lines))
        with open(self.path("site.warc.gz"), "rb") as f:
            data = f.read()
        for line in lines:
            key, date, text = line.split(" ", 2)
            entry = json.loads(text)
            self.assertEqual(entry["filename"], "site.warc.gz")
            head = gzip.GzipFile(fileobj=open(self.path("site.warc.gz"), "rb"))
            head.fileobj.seek(int(entry["offset"]))
            self.assertIn(entry["url"].encode(), head.read(400))
        self.assertEqual([(line.split()[0], line.split()[1]) for line in lines],
                         [("example,other)/i.png", DATES[0]),
                          ("example,site)/", DATES[0]),
                          ("example,site)/", DATES[1]),
                          ("example,site)/moved", DATES[0])])

    def records(self, name):
        with gzip.open(self.path(name)) as f:
            rest = f.read()
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in
                          head.decode().split("\r\n")[1:])
            n = int(fields["Content-Length"])
            yield fields, rest[:n]
            rest = rest[n + 4:]

    def test_wet_and_wat(self):
        """Texts and links, in Common Crawl's form; the latter come back as
        anchors."""
        self.site()
        self.ok("export", "web", "out.warc.wet.gz")
        self.ok("export", "web", "out.warc.wat.gz")
        wet = list(self.records("out.warc.wet.gz"))
        self.assertEqual([f["WARC-Type"] for f, _ in wet],
                         ["warcinfo", "conversion", "conversion"])
        fields, text = wet[1]
        self.assertEqual(fields["WARC-Date"][:19], "2020-01-01T00:00:00")
        self.assertEqual(fields["Content-Type"], "text/plain")
        self.assertEqual(fields["WARC-Identified-Content-Language"], "eng")
        self.assertIn("WARC-Refers-To", fields)
        self.assertTrue(text.startswith(b"Menu\nThe quick brown fox"))
        wat = [(f, json.loads(b)) for f, b in
               self.records("out.warc.wat.gz") if f["WARC-Type"] == "metadata"]
        self.assertEqual(len(wat), 4)
        of_page = [o["Envelope"] for f, o in wat
                   if f["WARC-Target-URI"] == "http://site.example/"][0]
        self.assertEqual(of_page["WARC-Header-Metadata"]["WARC-Type"],
                         "response")
        http = of_page["Payload-Metadata"]["HTTP-Response-Metadata"]
        self.assertEqual(http["Response-Message"]["Status"], "200")
        self.assertEqual(http["Headers"]["Content-Type"], "text/html")
        html = http["HTML-Metadata"]
        self.assertEqual(html["Head"], {
            "Title": "Front & more",
            "Metas": [{"name": "author", "content": "A B"}],
            "Link": [{"path": "LINK@/href", "url": "/s.css",
                      "rel": "stylesheet"}]})
        self.assertEqual(html["Links"], [
            {"path": "A@/href", "url": "/next?a=1&b=2", "text": "Next page"},
            {"path": "IMG@/src", "url": "i.png", "alt": "Fox"}])
        self.ok("import", "out.warc.wat.gz", "--into", "links")
        self.assertIn("Next page", self.ok("get", "links",
                                           "example.site/next?a=1&b=2"))

    def test_main_text(self):
        """--text writes the main text and its language, which an archive leaves
        out."""
        with open(self.path("site.warc.gz"), "wb") as f:
            f.write(archive())
        self.ok("import", "site.warc.gz", "--text", "--into", "web")
        text = self.ok("get", "web", "example.site/")
        self.assertIn("contents:main", text)
        self.assertIn("language:text", text)
        self.ok("export", "web", "out.warc.gz")
        self.assertNotIn("conversion", [f["WARC-Type"] for f, _ in
                                        self.records("out.warc.gz")])

    def test_validate(self):
        """py-wacz accepts what is exported, if it is here."""
        tool = os.environ.get("QUARRY_WACZ", "wacz")
        try:
            subprocess.run([tool, "--version"], check=True,
                           stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            raise unittest.SkipTest("py-wacz is not here (set QUARRY_WACZ)")
        self.site()
        self.ok("export", "web", "out.wacz")
        subprocess.run([tool, "validate", "-f", self.path("out.wacz")],
                       check=True, stdout=subprocess.DEVNULL)

    def test_real(self):
        """Files that other programs made."""
        path = shared("data/crawl/tricky/pywb--valid_example_1.wacz")
        if not path:
            raise unittest.SkipTest("the crawls are not here")
        self.assertIn("1 pages", self.ok("import", path, "--into", "web"))


main()

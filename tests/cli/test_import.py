"""import and export: csv, jsonl, access logs and web archives."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import re
import signal
import subprocess
import threading
import time
import zipfile

from harness import QUARRY, SECONDS_MAX, CliTest, main, shared

PAGE = ("<html><head><title>Hello</title></head><body>"
        "<a href='http://other.example/x'>over there</a></body></html>")


def record(kind, uri, date, body):
    """One WARC record."""
    return ("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:%s>\r\n"
            "WARC-Date: %s\r\nWARC-Target-URI: %s\r\nContent-Type: "
            "application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n"
            "%s\r\n\r\n" % (kind, abs(hash((uri, date))), date, uri,
                            len(body.encode()), body)).encode()


def response(uri, date, page=PAGE):
    return record("response", uri, date, "HTTP/1.1 200 OK\r\nContent-Type: "
                  "text/html\r\nContent-Length: %d\r\n\r\n%s" %
                  (len(page.encode()), page))


class Fields(CliTest):
    def test_csv(self):
        """A row a line; columns are named by the header; a rerun changes
        nothing."""
        self.write("people.csv", 'email,name,age\n'
                   'a@x,"Ada, Countess",36\nb@x,Bob,\n')
        for _ in range(2):
            self.ok("import", "csv", "people.csv", "--key", "email", "--into",
                    "people")
            rows = self.json("scan", "people")
            self.assertEqual([r["row"] for r in rows], ["a@x", "b@x"])
            values = {c["qualifier"]: c["value"] for c in rows[0]["cells"]}
            self.assertEqual(values["name"], "Ada, Countess")
            self.assertEqual(values["age"], "36")

    def test_summary(self):
        """The summary of a file that was not packed names no unpacked bytes,
        and has a rate."""
        self.write("in.csv", "k,v\n" + "a,1\n" * 10000)
        done = self.run_quarry("import", "csv", "in.csv", "--into", "t")
        self.assertRegex(done.stdout.decode(), r"^10,000 records, 1 row, 1 new into t; "
                         r"39\.1 KiB read, in [^ ]+ \([1-9][^ ]* [KM]iB/s\)\n$")
        self.assertIn(b"9,999 records have the key of an earlier one",
                      done.stderr)
        self.assertIn(b"--key '#'", done.stderr)

    def test_jsonl(self):
        """Nested fields become dotted columns."""
        self.write("e.jsonl", '{"id": "e1", "user": {"name": "ada"}, "n": 3}\n')
        self.ok("import", "jsonl", "e.jsonl", "--into", "events")
        row, = self.json("get", "events", "e1")
        values = {c["qualifier"]: c["value"] for c in row["cells"]}
        self.assertEqual(values["user.name"], "ada")
        self.assertEqual(values["n"], "3")

    def test_access_log(self):
        self.write("a.log", '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] '
                   '"GET /x.html HTTP/1.0" 200 2326 "-" "Mozilla"\n')
        self.ok("import", "access-log", "a.log", "--into", "log")
        self.assertEqual(self.json("count", "log")[0]["rows"], 1)

    def test_equal_lines_of_a_log(self):
        """Every line is a row, also where equal ones are not neighbours, and a
        rerun adds none; what is said is what is there."""
        def line(second, path):
            return ('1.2.3.4 - - [10/Oct/2000:13:55:%02d -0700] "GET /%s '
                    'HTTP/1.0" 200 1 "-" "x"\n' % (second, path))
        text = "".join([line(1, "a"), line(2, "a"), line(1, "a"), line(1, "a"),
                        line(2, "a"), line(2, "a"), line(0, "a"), line(0, "a"),
                        line(3, "b"), line(3, "b"), line(1, "a")])
        self.write("a.log", text)
        for _ in range(2):
            report, = self.json("import", "access-log", "a.log", "--into",
                                "log")
            self.assertEqual(report["rows"], 11)
            self.assertEqual(self.json("count", "log")[0]["rows"], 11)

    def test_no_text(self):
        """A file that is no text is refused before a table is made of it, and
        the error names its kind."""
        rows = "k,v\n" + "".join("r%d,\u00fc\n" % i for i in range(100))
        kinds = {
            "UTF-16": rows.encode("utf-16"),
            "Parquet": b"PAR1" + bytes(200) + b"PAR1",
            "ZIP": b"PK\x03\x04" + bytes(100),
            "binary": bytes(range(256)) * 4,
        }
        kinds["UTF-16 "] = "k,v\nabc,def\n".encode("utf-16-le")
        for word, data in kinds.items():
            self.write("in", data)
            self.assertIn("no text, but", self.fails(
                1, "import", "csv", "in", "--into", "t"))
            self.assertIn(word.strip(), self.fails(
                1, "import", "jsonl", "in", "--into", "t"))
            self.write("in", gzip.compress(data))
            self.assertIn(word.strip(), self.fails(
                1, "import", "access-log", "in", "--into", "t"))
        self.assertEqual(self.json("table", "list"), [])
        for packed in (gzip.compress, bz2.compress, lzma.compress):
            self.write("in", packed(rows.encode()))
            self.ok("import", "csv", "in", "--into", "t")
        self.write("in", rows.encode("latin-1"))
        self.ok("import", "csv", "in", "--into", "latin")

    def test_mostly_bad(self):
        """An import of the wrong kind fails, a few bad lines do not; --strict
        and --max-bad say otherwise."""
        self.write("people.csv", "name,age\nada,36\nbob,40\n")
        self.assertIn("3 of 3 lines", self.fails(
            1, "import", "jsonl", "people.csv", "--into", "t"))
        self.assertEqual(self.json("table", "list"), [])
        self.write("open.csv", 'k,v\na,1\nb,"2\n' + "c,3\n" * 100)
        self.assertIn("most of the input", self.fails(
            1, "import", "csv", "open.csv", "--into", "open"))
        self.write("e.jsonl", "".join(
            '{"id": "%d", "n": 1}\n' % i if i % 10 else "x\n"
            for i in range(50)))
        self.ok("import", "jsonl", "e.jsonl", "--into", "t")
        self.ok("import", "jsonl", "e.jsonl", "--into", "t", "--max-bad", "5")
        self.assertIn("more than 4 places", self.fails(
            1, "import", "jsonl", "e.jsonl", "--into", "t", "--max-bad", "4"))
        self.assertIn("damaged at byte 0", self.fails(
            1, "import", "jsonl", "e.jsonl", "--into", "t", "--strict"))
        self.fails(2, "import", "jsonl", "e.jsonl", "--into", "t", "--strict",
                   "--max-bad", "4")

    def test_exports(self):
        """import does not take a file that export wrote for rows of its own."""
        self.table()
        self.ok("put", "t", "r", "f:q=v")
        self.ok("export", "t", "t.csv")
        self.ok("export", "t", "t.jsonl")
        for kind in ("csv", "jsonl"):
            self.assertIn("quarry load", self.fails(
                1, "import", kind, "t." + kind, "--into", "u"))

    def test_family_with_an_age(self):
        """Cells without a time would be dropped by age: that is said."""
        self.write("x.csv", "k,v\na,1\n")
        self.table("t", "data,ttl=7d")
        done = self.run_quarry("import", "csv", "x.csv", "--into", "t")
        self.assertIn(b"drops cells by age", done.stderr)
        self.table("u", "data")
        done = self.run_quarry("import", "csv", "x.csv", "--into", "u")
        self.assertNotIn(b"drops cells", done.stderr)

    def test_streams(self):
        """Standard input, pipes and files of the file system are read."""
        self.ok("import", "csv", "-", "--into", "t", stdin="k,v\na,1\nb,2\n")
        self.assertEqual(self.json("count", "t")[0]["rows"], 2)
        os.mkfifo(self.path("pipe"))
        writer = threading.Thread(target=self.write, args=(
            "pipe", '{"id": "x", "n": 1}\nbad\n{"id": "y"}\n'))
        writer.start()
        done = self.run_quarry("import", "jsonl", "pipe", "--into", "t")
        writer.join()
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"quarry: pipe: byte 20", done.stderr)
        self.write("in.csv", "k,v\nz,1\n")
        self.ok("fs", "put", "in.csv", "/data/in.csv")
        self.ok("import", "csv", "fs:/data/in.csv", "--into", "t")
        self.assertEqual(self.ok("scan", "t", "--keys-only").split(),
                         ["a", "b", "x", "y", "z"])

    def test_interrupted(self):
        """Ctrl-C says what is stored, and that is there."""
        self.embedded_only("a store whose LOCK says when it began")
        with open(self.path("big.csv"), "w") as f:
            f.write("k,v\n")
            f.writelines("row%09d,%s\n" % (i, "x" * 100)
                         for i in range(300000))
        p = subprocess.Popen(
            [QUARRY, "import", "csv", "big.csv", "--into", "t"], cwd=self.dir,
            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for(lambda: os.path.exists(self.path("quarry-data/LOCK")))
        time.sleep(0.4)
        p.send_signal(signal.SIGINT)
        _, said = p.communicate(timeout=SECONDS_MAX)
        if p.returncode == 0:
            return  # It was faster.
        if p.returncode == -signal.SIGINT:
            return  # It had not begun.
        stored = re.search(r"([0-9]+) rows are stored", said.decode())
        self.assertTrue(stored, said)
        rows = 0
        if self.json("table", "list"):
            rows = self.json("count", "t")[0]["rows"]
        self.assertEqual(rows, int(stored.group(1)))

    def test_damage_is_reported(self):
        """A line that cannot be read is skipped, named with its place."""
        self.write("e.jsonl", '{"id": "a", "n": 1}\n{"id": \n'
                   '{"id": "c", "n": 3}\n')
        done = self.run_quarry("import", "jsonl", "e.jsonl", "--into", "t")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"e.jsonl: byte ", done.stderr)
        self.assertEqual(self.ok("scan", "t", "--keys-only").split(),
                         ["a", "c"])

    def test_errors(self):
        self.assertIn("--into TABLE",
                      self.fails(2, "import", "csv", "x.csv"))
        self.assertIn("nowhere.csv", self.fails(
            1, "import", "csv", "nowhere.csv", "--into", "t"))
        self.write("x.csv", "a\n1\n")
        self.fails(1, "import", "csv", "x.csv", "--into", "t", "--no-create")


class Archives(CliTest):
    def test_webtable(self):
        """Pages go to rows of reversed hosts by time; links to their targets'
        rows."""
        records = [response("http://www.site.example/", "2024-01-0%dT00:00:00Z"
                            % day, PAGE.replace("Hello", "Hello %d" % day))
                   for day in (1, 2, 3)]
        self.write("c.warc.gz", b"".join(gzip.compress(r) for r in records))
        self.ok("import", "warc", "c.warc.gz", "--into", "web")
        row, = self.json("get", "web", "example.site.www/", "contents:")
        self.assertEqual([c["time"][:10] for c in row["cells"]],
                         ["2024-01-03", "2024-01-02", "2024-01-01"])
        self.assertIn("Hello 3", row["cells"][0]["value"])
        row, = self.json("get", "web", "example.other/x", "anchor")
        self.assertIn("over there", [c["value"] for c in row["cells"]])

    def test_packings(self):
        """The same archive in every packing, told by its bytes, is the same
        table."""
        packed = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                              "..", "fuzz", "corpus", "warc")
        tables = {}
        for name in ("plain", "gz", "zst", "lz4", "lz4-blocks"):
            with open(os.path.join(packed, name), "rb") as f:
                self.write("x.warc", f.read())
            self.ok("import", "warc", "x.warc", "--into", name)
            cells = self.ok("export", name, "--family", "contents")
            tables.setdefault(cells, []).append(name)
        self.assertEqual(len(tables), 1, tables)

    def test_rerun_changes_nothing(self):
        self.write("c.warc", response("http://a.example/", "2024-01-01T00:00:00"
                                      "Z"))
        self.ok("import", "warc", "c.warc", "--into", "web")
        first = self.ok("export", "web")
        self.ok("import", "warc", "c.warc", "--into", "web")
        self.assertEqual(self.ok("export", "web"), first)

    def test_damaged_archive(self):
        """A cut member is reported with its place; what is whole is there."""
        parts = [gzip.compress(response("http://%s.example/" % h,
                                        "2024-01-01T00:00:00Z"))
                 for h in "abc"]
        self.write("c.warc.gz", parts[0] + parts[1][:60] + parts[2])
        done = self.run_quarry("import", "warc", "c.warc.gz", "--into", "web")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"c.warc.gz: byte ", done.stderr)
        keys = self.ok("scan", "web", "--keys-only", "--family", "contents")
        self.assertIn("example.a/", keys)
        self.assertIn("example.c/", keys)

    def test_no_archive(self):
        self.write("x.warc", "This is no archive.\n" * 100)
        self.fails(1, "import", "warc", "x.warc", "--into", "web")

    def test_other_kinds_are_skipped(self):
        """A file of another kind is told by name and skipped; the others come
        in, and the status says that something was left out."""
        page = response("http://a.example/", "2024-01-01T00:00:00Z")
        with zipfile.ZipFile(self.path("c.zip"), "w") as other:
            other.writestr("data.warc.gz", gzip.compress(page))
        self.write("e.html", "<!DOCTYPE html>\n<title>404</title>" + PAGE)
        self.write("e.warc.gz", gzip.compress(b" <html>503</html>"))
        self.write("empty.warc", "")
        self.write("good.warc", page)
        done = self.run_quarry("import", "warc", "e.html", "c.zip",
                               "e.warc.gz", "empty.warc", "good.warc",
                               "--into", "web")
        self.assertEqual(done.returncode, 1)
        text = done.stderr.decode()
        self.assertRegex(text, r"e\.html: .*an HTML page")
        self.assertRegex(text, r"c\.zip: .*ZIP.*WACZ")
        self.assertRegex(text, r"e\.warc\.gz: .*an HTML page")
        self.assertIn("3 of 5 files skipped", text)
        row, = self.json("scan", "web", "--family", "contents")
        self.assertEqual(row["row"], "example.a/")
        self.assertEqual(row["cells"][0]["value"], PAGE)

    def test_uris_of_files(self):
        """Local files and blanks in URIs are kept."""
        date = "2024-01-01T00:00:00Z"
        self.write("f.warc", response("file:///an example.html", date) +
                   response("http://a.example/b c", date) +
                   response("http://odd host/x", date))
        report, = self.json("import", "warc", "f.warc", "--into", "web")
        self.assertEqual((report["pages"], report["lost"]), (3, 0))
        rows = [r["row"] for r in self.json("scan", "web", "--family",
                                            "contents")]
        self.assertEqual(rows, ["example.a/b%20c", "file:///an%20example.html",
                                "http://odd%20host/x"])

    def digests(self, page, **wrong):
        """A record with digests, of which some are wrong."""
        block = ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page)
        out = ("WARC/1.0\r\nWARC-Type: response\r\n"
               "WARC-Target-URI: http://a.example/\r\n"
               "WARC-Date: 2024-01-01T00:00:00Z\r\n"
               "Content-Type: application/http\r\n"
               "Content-Length: %d\r\n" % len(block))
        for name, value in (("block", block), ("payload", page)):
            if name in wrong:
                value = wrong[name]
            if value is not None:
                out += "WARC-%s-Digest: sha1:%s\r\n" % (
                    name.capitalize(), hashlib.sha1(value.encode()).hexdigest())
        return out + "\r\n" + block + "\r\n\r\n"

    def test_verify(self):
        """A page whose digest differs is lost, not stored; one whose writer
        hashed something else as payload is stored."""
        for wrong, pages, lost in (({}, 1, 0), ({"block": "x"}, 0, 1),
                                   ({"payload": "x"}, 1, 0),
                                   ({"payload": "x", "block": None}, 0, 1)):
            self.write("v.warc", self.digests(PAGE, **wrong))
            report, = self.json("import", "warc", "v.warc", "--into", "web",
                                "--verify")
            self.assertEqual((report["pages"], report["lost"]), (pages, lost),
                             wrong)

    def test_all_damage_is_listed(self):
        """--damage-to has what is too much to print."""
        page = response("http://a.example/", "2024-01-01T00:00:00Z")
        self.write("d.warc", (page + b"rubbish between records\n") * 50)
        self.ok("import", "warc", "d.warc", "--into", "web", "--damage-to",
                "d.json")
        with open(self.path("d.json")) as f:
            places = [json.loads(line) for line in f]
        self.assertEqual(len(places), 50)
        self.assertEqual(places[0]["offset"], len(page))
        self.assertEqual({p["file"] for p in places}, {"d.warc"})
        self.assertTrue(all(p["lost"] for p in places))

    def test_real_crawl(self):
        """Real archives of the shared data go in without a loss being hidden.
        """
        path = shared("data/crawl/tricky/pywb--example.warc.gz")
        if not path:
            return
        report, = self.json("import", "warc", path, "--into", "web")
        self.assertGreater(report["pages"], 0)
        self.assertEqual(report["lost"], 0)


class Export(CliTest):
    def test_json_lines(self):
        """Every cell comes out, one object a row."""
        self.table()
        for i in range(10):
            self.ok("put", "t", "r%d" % i, "f:q=%d" % i, "--time", "5")
        self.ok("export", "t", "-o", "out.jsonl")
        with open(self.path("out.jsonl")) as f:
            rows = [json.loads(line) for line in f]
        self.assertEqual([r["row"] for r in rows],
                         ["r%d" % i for i in range(10)])
        self.assertEqual(rows[3]["cells"][0]["timestamp_us"], 5)
        self.ok("export", "t", "--format", "csv", "-o", "out.csv")
        with open(self.path("out.csv")) as f:
            self.assertEqual(f.readlines()[1], "r0,f,q,5,0\n")
        self.assertFalse(os.path.exists(self.path("out.csv.partial")))

    def test_warc(self):
        """Captures come out as archives in three packings, and importing one
        gives the same table; other readers of WARC can read it."""
        self.write("c.warc", response("http://a.example/x y",
                                      "2024-01-01T00:00:00Z") +
                   response("https://b.example/", "2024-01-02T00:00:00Z"))
        self.ok("import", "warc", "c.warc", "--into", "web")
        first = self.ok("export", "web")
        for name in ("o.warc", "o.warc.gz", "o.warc.zst"):
            self.ok("export", "web", "--format", "warc", name)
            self.ok("import", "warc", name, "--into", "back")
            self.assertEqual(self.ok("export", "back"), first)
            self.ok("table", "drop", "back")
        with open(self.path("o.warc"), "rb") as f:
            plain = f.read()
        self.assertIn(b"WARC-Target-URI: http://a.example/x y\r\n", plain)
        self.assertRegex(plain, rb"WARC-Date: 2024-01-01T00:00:00\.\d{6}Z")
        with gzip.open(self.path("o.warc.gz")) as f:
            self.assertEqual(f.read().count(b"WARC/1.1\r\n"), 3)
        try:
            from warcio.archiveiterator import ArchiveIterator
        except ImportError:
            print("SKIPPED: warcio is not installed")
            return
        with open(self.path("o.warc.gz"), "rb") as f:
            for r in ArchiveIterator(f, check_digests="raise"):
                body = r.content_stream().read()
                if r.rec_type == "response":
                    self.assertEqual(body.decode(), PAGE)

    def test_warc_of_some_rows(self):
        """Rows and times may be chosen, parts of captures may not; the name of
        the file tells the format, and no half file stays."""
        self.write("c.warc", response("http://a.example/",
                                      "2024-01-01T00:00:00Z") +
                   response("http://b.example/", "2024-01-02T00:00:00Z"))
        self.ok("import", "warc", "c.warc", "--into", "web")
        self.ok("export", "web", "b.warc", "--prefix", "example.b")
        with open(self.path("b.warc"), "rb") as f:
            text = f.read()
        self.assertIn(b"http://b.example/", text)
        self.assertNotIn(b"Target-URI: http://a.example/", text)
        self.assertIn("whole captures", self.fails(
            2, "export", "web", "x.warc", "--family", "http"))
        self.assertIn("to x.warc or to y", self.fails(
            2, "export", "web", "x.warc", "-o", "y"))
        self.table()
        self.assertIn("contents", self.fails(1, "export", "t", "t.warc"))
        self.fails(2, "scan", "web", "--format", "warc")
        self.assertEqual([n for n in os.listdir(self.path("."))
                          if n.startswith(("x.", "t."))], [])


if __name__ == "__main__":
    main()

"""quarry replay: captures by POST and other methods, playlists of films, and
Memento (RFC 7089) to the letter."""

import email.utils
import http.client
import json
import os
import re

from archived_site import (FIRST, HOST, SECOND, ReplayTest, record, response)
from harness import main

URL = "http://%s/" % HOST
API = URL + "api"
FORM = "application/x-www-form-urlencoded"
HLS = """#EXTM3U
#EXT-X-MEDIA:TYPE=AUDIO,URI="sound.m3u8",NAME="a"
#EXT-X-STREAM-INF:BANDWIDTH=100,RESOLUTION=10x10
/low.m3u8
#EXT-X-STREAM-INF:BANDWIDTH=900,RESOLUTION=90x90
http://cdn.example/high.m3u8
"""
DASH = """<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011">
<BaseURL>http://cdn.example/d/</BaseURL><Period><AdaptationSet>
<Representation id="1" bandwidth="10" width="2" height="2"/>
<Representation id="2" bandwidth="20" width="4" height="4"><BaseURL>b.mp4</BaseURL>
<SegmentTemplate media="/s-$Number$.m4s" initialization="i.mp4"/></Representation>
</AdaptationSet></Period></MPD>
"""


def asked(method, url, digits, answer, body=b"", kind=FORM, first=False):
    """The answer to a request and the request, as records beside each other."""
    head = "%s /api HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n" \
        "Content-Length: %d\r\n\r\n" % (method, HOST, kind, len(body))
    reply = response(url, digits, answer)
    name = re.search(rb"WARC-Record-ID: (<[^>]*>)", reply).group(1).decode()
    request = record("request", url, digits, head.encode() + body,
                     ["WARC-Concurrent-To: " + name])
    return request + reply if first else reply + request


def links(text):
    """The entries of application/link-format: (URL, attributes)."""
    found = re.findall(r'<([^>]*)>((?:\s*;\s*\w+="[^"]*")*)\s*(?:,\s*|$)', text)
    assert re.sub(r'<([^>]*)>((?:\s*;\s*\w+="[^"]*")*)\s*(?:,\s*|$)', "",
                  text).strip() == "", text
    return [(url, dict(re.findall(r'(\w+)="([^"]*)"', rest)))
            for url, rest in found]


class Methods(ReplayTest):
    def import_site(self, live_port=9):
        records = [
            response(API, FIRST, "<p>by GET"),
            asked("POST", API, "20200101000001", "<p>one", b"a=1&b=x+y"),
            asked("POST", API, "20200101000002", "<p>two", b"a=2", first=True),
            asked("POST", API, "20210101000002", "<p>two later", b"a=2"),
            asked("POST", API, "20200101000003", "<p>json",
                  b'{"q": {"id": 7, "tags": ["x", null]}}', "application/json"),
            asked("DELETE", API, "20200101000004", "<p>gone"),
            asked("HEAD", URL + "head", "20200101000005", ""),
            asked("GET", URL + "get", "20200101000006", "<p>got"),
            response(URL + "film.m3u8", FIRST, HLS, "application/x-mpegURL"),
            response(URL + "low.m3u8", FIRST, "#EXTM3U\na.ts\n",
                     "application/x-mpegURL"),
            response(URL + "best.m3u8", FIRST, HLS.replace("low", "lower"),
                     "audio/mpegurl"),
            response(URL + "film.mpd", FIRST, DASH, "application/dash+xml"),
        ] + [response(URL + "often", "20200101%06d" % (i // 60 * 100 + i % 60),
                      "<p>%d" % i) for i in range(30)]
        self.write("site.warc", b"".join(records))
        self.ok("import", "warc", "site.warc", "--into", "web")

    def ask(self, method, path, body=b"", kind=FORM, **headers):
        c = http.client.HTTPConnection(self.address, timeout=120)
        try:
            c.request(method, path, body, dict(
                {"Content-Type": kind},
                **{n.replace("_", "-"): v for n, v in headers.items()}))
            r = c.getresponse()
            return r.status, r.headers, r.read()
        finally:
            c.close()

    def secret(self):
        _, _, body = self.get("/web/%s/%s" % (FIRST, API),
                              Sec_Fetch_Dest="document")
        return re.search(rb"/~[0-9a-f]{32}", body).group().decode()

    def test_methods(self):
        """Each body finds the capture that was made with it."""
        self.serve()
        for date, method, body, kind, want in (
                ("20200101000001", "POST", b"a=1&b=x%20y", FORM, b"<p>one"),
                ("20200101000002", "POST", b"a=2", FORM, b"<p>two"),
                ("20210101000002", "POST", b"a=2", FORM, b"<p>two later"),
                ("20200101000003", "POST",
                 b'{"q":{"id":7,"tags":["x",null]}}', "application/json",
                 b"<p>json"),
                ("20200101000004", "DELETE", b"", FORM, b"<p>gone")):
            status, headers, got = self.ask(
                method, "/web/%smp_/%s" % (date, API), body, kind)
            self.assertEqual((status, got.split(b">")[-1]),
                             (200, want.split(b">")[-1]), want)
            self.assertIn("sandbox", headers["Content-Security-Policy"])
            self.assertIn("Memento-Datetime", headers)
        # The nearest date keeps the method; another body is better than none.
        status, headers, _ = self.ask("POST", "/web/2021mp_/" + API, b"a=2")
        self.assertEqual((status, headers["Location"]),
                         (307, "/web/20210101000002mp_/" + API))
        status, headers, _ = self.ask("POST", "/web/2020mp_/" + API, b"a=3")
        self.assertEqual(status, 307)
        # By GET there is one capture, and that of HEAD is none of it.
        self.assertEqual(self.get("/web/2022/" + API)[1]["Location"],
                         "/web/%s/%s" % (FIRST, API))
        self.assertEqual(self.get("/web/2022/%shead" % URL)[0], 404)
        self.assertIn("got", self.text("/web/20200101000006/%sget" % URL))
        self.assertEqual(self.ask("POST", "/web/2020/%sget" % URL, b"a=2")[0],
                         404)
        # By their key, as clients have it that make GET of POST.
        self.assertIn("two later", self.text(
            "/web/20210101000002mp_/%s?__wb_method=POST&a=2" % API))

    def test_isolation(self):
        self.serve()
        path = "/web/20200101000002mp_/" + API
        for method, where, status in (("POST", "/cdx?url=" + API, 405),
                                      ("POST", "/", 405), ("PUT", "/hosts", 405),
                                      ("TRACE", path, 405),
                                      ("CONNECT", path, 405)):
            self.assertEqual(self.ask(method, where)[0], status, where)
        self.assertEqual(self.ask("POST", path, b"a=2",
                                  Sec_Fetch_Site="cross-site",
                                  Sec_Fetch_Dest="document")[0], 403)
        self.assertEqual(self.ask("POST", path, b"a" * 300000)[0], 413)
        ask = {"Origin": "null", "Sec_Fetch_Site": "cross-site",
               "Access_Control_Request_Method": "POST",
               "Access_Control_Request_Headers": "content-type,x-a"}
        status, headers, _ = self.ask("OPTIONS", path, **ask)
        self.assertEqual(status, 403)
        self.assertNotIn("Access-Control-Allow-Origin", headers)
        status, headers, _ = self.ask("OPTIONS", self.secret() + path, **ask)
        self.assertEqual(status, 204)
        self.assertEqual(headers["Access-Control-Allow-Origin"], "null")
        self.assertEqual(headers["Access-Control-Allow-Headers"],
                         "content-type,x-a")
        status, headers, body = self.ask("POST", self.secret() + path, b"a=2",
                                         Sec_Fetch_Site="cross-site")
        self.assertEqual((status, headers["Access-Control-Allow-Origin"]),
                         (200, "null"))
        # An error may stand in a frame of the page that asked.
        status, headers, body = self.get(self.secret() + "/web/2020if_/%sno" %
                                         URL)
        self.assertEqual((status, headers["X-Frame-Options"]), (404, None))
        self.assertIn("sandbox", headers["Content-Security-Policy"])
        self.assertIn(b"there is no capture of", body)

    def test_index(self):
        """Method and body are in the index, and an export brings them back."""
        self.serve()
        lines = self.text("/cdx?url=%s*" % API).splitlines()
        keys = [line.split(" ")[0] for line in lines]
        self.assertIn("example,site)/api?__wb_method=post&a=1&b=x%20y", keys)
        self.assertIn("example,site)/api?__wb_method=delete", keys)
        found = json.loads([x for x in lines if "&a=1" in x][0].split(" ", 2)[2])
        self.assertEqual((found["url"], found["method"], found["requestBody"]),
                         (API, "POST", "a=1&b=x y"))
        self.ok("export", "web", "out.cdxj")
        with open(os.path.join(self.dir, "out.cdxj"), encoding="utf-8") as f:
            out = f.read()
        self.assertIn('"method": "POST", "requestBody": "id=7&tags=x&tags.2_=null"',
                      out)
        self.stop()
        self.ok("export", "web", "out.warc.gz")
        self.ok("import", "warc", "out.warc.gz", "--into", "again")
        scans = [self.ok("scan", table, "--format", "json")
                 for table in ("web", "again")]
        self.assertEqual(scans[0], scans[1])

    def test_playlists(self):
        self.serve()
        w = "/web/%soe_/" % FIRST
        body = self.text("/web/%s/%sfilm.m3u8" % (FIRST, URL))
        self.assertEqual(body, HLS[:HLS.index("#EXT-X-STREAM-INF:BANDWIDTH=900")]
                         .replace("sound", w + URL + "sound")
                         .replace("/low", w + URL + "low"))
        body = self.text("/web/%s/%sbest.m3u8" % (FIRST, URL))
        self.assertNotIn("lower", body)
        self.assertIn("\n%shttp://cdn.example/high.m3u8\n" % w, body)
        body = self.text("/web/%s/%sfilm.mpd" % (FIRST, URL))
        self.assertEqual(body, DASH.replace(
            '<Representation id="1" bandwidth="10" width="2" height="2"/>', "")
            .replace("http://cdn", w + "http://cdn")
            .replace("/s-$", w + URL + "s-$"))

    # --- Memento

    def check_date(self, text):
        """A date as RFC 7089 wants it: RFC 1123, in GMT."""
        self.assertRegex(text, r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        when = email.utils.parsedate_to_datetime(text)
        self.assertEqual(email.utils.format_datetime(when, True), text)
        return when

    def test_memento(self):
        self.serve()
        url = URL + "often"
        ask = {"Accept_Datetime": "Wed, 01 Jan 2020 00:00:10 GMT"}
        # 4.2.1, pattern 2.1: a TimeGate that redirects.
        for method in ("GET", "HEAD"):
            status, headers, _ = self.get("/web/" + url, method, **ask)
            self.assertEqual(status, 302)
            self.assertEqual(headers["Location"], "/web/20200101000010/" + url)
            self.assertIn("accept-datetime", headers["Vary"].lower())
            self.assertNotIn("Memento-Datetime", headers)
            found = {a["rel"]: to for to, a in links(headers["Link"])}
            self.assertEqual(found["original"], url)
            self.assertTrue(found["timemap"].endswith("/timemap/link/" + url))
        # Dates before the first and behind the last: those.
        for date, want in (("Tue, 01 Jan 1980 00:00:00 GMT", "20200101000000"),
                           ("Tue, 01 Jan 2099 00:00:00 GMT", "20200101000029")):
            self.assertEqual(
                self.get("/web/" + url, Accept_Datetime=date)[1]["Location"],
                "/web/%s/%s" % (want, url))
        # 4.5.3: no date; and without one, the newest.
        for date in ("yesterday", "2020-01-01T00:00:00Z", ""):
            status, headers, _ = self.get("/web/" + url, Accept_Datetime=date)
            self.assertEqual(status, 400, date)
            self.assertNotIn("Memento-Datetime", headers)
        self.assertEqual(self.get("/web/" + url)[1]["Location"],
                         "/web/20200101000029/" + url)
        # 4.2.2: a memento.
        status, headers, _ = self.get("/web/20200101000010/" + url, **ask)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Memento-Datetime"], ask["Accept_Datetime"])
        seen = links(headers["Link"])
        relations = [a["rel"] for _, a in seen]
        for relation in ("original", "timegate", "timemap", "first memento",
                         "prev memento", "memento", "next memento",
                         "last memento"):
            self.assertEqual(relations.count(relation), 1, relations)
        for to, a in seen:
            if "memento" in a["rel"].split():
                self.assertEqual(self.check_date(a["datetime"]).strftime(
                    "%Y%m%d%H%M%S"), re.search(r"/web/(\d+)/", to).group(1))
        # 4.5.5: none, and no claim of one.
        for path in ("/web/20200101000010/%snever" % URL, "/web/%snever" % URL,
                     "/timemap/link/%snever" % URL):
            status, headers, _ = self.get(path, **ask)
            self.assertEqual((status, headers["Memento-Datetime"]), (404, None))
        # 5: the TimeMap.
        _, headers, body = self.get("/timemap/link/" + url)
        self.assertEqual(headers["Content-Type"], "application/link-format")
        self.assertNotIn("Memento-Datetime", headers)
        seen = links(body.decode())
        own = [a for _, a in seen if a["rel"] == "self"]
        self.assertEqual(len(own), 1)
        self.assertEqual(own[0]["type"], "application/link-format")
        mementos = [(to, a) for to, a in seen if "memento" in a["rel"].split()]
        self.assertEqual(len(mementos), 30)
        dates = [self.check_date(a["datetime"]) for _, a in mementos]
        self.assertEqual(dates, sorted(dates))
        self.assertEqual(self.check_date(own[0]["from"]), dates[0])
        self.assertEqual(self.check_date(own[0]["until"]), dates[-1])
        for to, _ in mementos[::7]:
            path = to.split(self.address, 1)[1]
            self.assertIn("Memento-Datetime", self.get(path)[1])
        self.assertEqual([to for to, a in seen if a["rel"] == "original"], [url])
        self.assertEqual(
            links(self.text("/timemap/link/1/" + url))[3:], mementos)
        self.assertEqual(self.get("/timemap/link/2/" + url)[0], 404)

    def test_long_timemap(self):
        """Of many captures the TimeMap lists its pages."""
        self.write("long.warc", b"".join(
            record("resource", URL + "long", "20%02d%02d%02d000000" % (
                i // 336, i // 28 % 12 + 1, i % 28 + 1), b"x")
            for i in range(5100)))
        self.ok("import", "warc", "long.warc", "--into", "web")
        self.serve()
        seen = links(self.text("/timemap/link/%slong" % URL))
        pages = [(to, a) for to, a in seen if a["rel"] == "timemap"]
        self.assertEqual(len(pages), 2)
        count = 0
        for to, a in pages:
            page = links(self.text(to.split(self.address, 1)[1]))
            dates = [x["datetime"] for _, x in page
                     if "memento" in x["rel"].split()]
            self.assertEqual((dates[0], dates[-1]), (a["from"], a["until"]))
            count += len(dates)
        self.assertEqual(count, 5100)
        self.assertEqual(seen[2][1]["until"], pages[1][1]["until"])


if __name__ == "__main__":
    main()

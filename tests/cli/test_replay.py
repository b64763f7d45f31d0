"""quarry replay: every answer, by HTTP."""

import http.client
import json
import re

from archived_site import FIRST, HOST, SECOND, ReplayTest, response
from harness import main

URL = "http://%s/" % HOST


class Replay(ReplayTest):
    def setUp(self):
        super().setUp()
        self.serve()

    # --- choosing

    def test_dates(self):
        """The nearest capture; a date that is not its own leads to it."""
        for asked, got in [("202005", FIRST), ("20200102", FIRST),
                           ("2019", FIRST), ("2020", SECOND),
                           ("20220101000000", SECOND), ("", SECOND)]:
            with self.subTest(asked=asked):
                prefix = "/web/" + (asked + "/" if asked else "")
                status, headers, _ = self.get(prefix + URL)
                self.assertEqual(status, 302)
                self.assertEqual(headers["Location"], "/web/%s/%s" % (got, URL))
        self.assertIn("Home of 2020", self.text("/web/%s/%s" % (FIRST, URL)))
        self.assertIn("Home of 2021", self.text("/web/%s/%s" % (SECOND, URL)))

    def test_one_url(self):
        """Spellings of a URL that archives take for one."""
        for url in (URL, "https://site.example/", "www.site.example",
                    "http:/site.example/", "HTTP://SITE.example:80/"):
            self.assertIn("Home of 2020",
                          self.text("/web/%s/%s" % (FIRST, url)), url)
        for path in ("case?a=1&b=2", "Case/?b=2&a=1", "CASE?b=2&a=1"):
            self.assertIn("sorted", self.text("/web/%s/%s%s" %
                                              (FIRST, URL, path)), path)

    def test_redirects(self):
        status, headers, _ = self.get("/web/%smp_/%sold" % (FIRST, URL))
        self.assertEqual(status, 301)
        to = "/web/%smp_/%snew?a=1" % (FIRST, URL)
        self.assertEqual(headers["Location"], to)
        self.assertIn("the new place", self.text(to))

    def test_own_redirect(self):
        """A redirect from www to none is no capture of the page itself."""
        status, headers, _ = self.get("/web/%s/http://www.%s/alias" %
                                      (FIRST, HOST))
        self.assertEqual((status, headers["Location"]),
                         (302, "/web/20200101000005/%salias" % URL))

    def test_stand_ins(self):
        """A URL without captures is answered by one with another query where
        that does not matter."""
        for asked, got in (("stamp.css?222", "stamp.css?111"),
                           ("stamp.css", "stamp.css?111"),
                           ("stamp.php?id=1&_=77", "stamp.php?id=1&_=5"),
                           ("stamp.php?id=1", "stamp.php?id=1&_=5"),
                           ("stamp.php?utm_a=b&id=1&cb=9",
                            "stamp.php?id=1&_=5"),
                           ("stamp.php?id=2&_=5", None),
                           ("stamp.php", None), ("stamp.cs?111", None),
                           ("stamp.css/x?111", None),
                           ("gone?a=1", None), ("stream?n=2", "stream?n=1")):
            with self.subTest(asked=asked):
                status, headers, _ = self.get("/web/2020/" + URL + asked)
                if got:
                    self.assertEqual(headers["Location"], "/web/%s/%s%s" % (
                        FIRST, URL, got))
                else:
                    self.assertEqual(status, 404)
                self.assertEqual(self.get("/web/2020id_/" + URL + asked)[0],
                                 404)
        self.assertEqual(self.cdx("url=%sstamp.css?222" % URL), [])
        self.write("list", "block http://%s/stamp.css* gone\n" % HOST)
        self.serve("--block", "list")
        self.assertIn(self.get("/web/2020/%sstamp.css?222" % URL)[0],
                      (404, 451))

    def test_revisit(self):
        self.assertEqual(self.text("/web/%sid_/%ssame" % (SECOND, URL)),
                         "<p>the same")

    def test_late_original(self):
        """An original that was imported after its revisit is found by replay.
        """
        self.stop()
        self.ok("table", "drop", "web")
        self.ok("import", "warc", "second.warc", "--into", "web")
        self.ok("import", "warc", "first.warc.gz", "--into", "web")
        self.serve()
        status, headers, body = self.get("/web/%sid_/%ssame" % (SECOND, URL))
        self.assertEqual((status, body), (200, b"<p>the same"))
        self.assertEqual(headers["Memento-Datetime"],
                         "Fri, 01 Jan 2021 12:00:00 GMT")

    def test_status(self):
        self.assertEqual(self.get("/web/%s/%sgone" % (FIRST, URL))[0], 404)
        status, headers, body = self.get("/web/%s/%snever" % (FIRST, URL))
        self.assertEqual(status, 404)
        self.assertNotIn("Memento-Datetime", headers)
        self.assertIn(b"there is no capture of", body)
        # A revisit whose original is in no archive here.
        status, _, body = self.get("/web/%s/%slost" % (SECOND, URL))
        self.assertEqual(status, 404)
        self.assertIn(b"none of the captures here can be shown (1)", body)

    # --- rewriting

    def test_page(self):
        body = self.text("/web/%smp_/%s" % (FIRST, URL))
        w = "/web/" + FIRST
        for part in (w + "cs_/http://site.example/style.css\" _integrity=",
                     "<script src=\"" + w + "js_/http://site.example/app.js",
                     "src=\"" + w + "im_/http://site.example/pic.png",
                     w + "im_/http://site.example/pic2.png 2x",
                     w + "if_/http://site.example/frame.html",
                     w + "mp_/http://other.example/page",
                     "<meta _http-equiv=\"Content-Security-Policy\"",
                     "<head><script src=\"/assets/replay_page.js\" "
                     "data-url=\"http://site.example/\""):
            self.assertIn(part, body)

    def test_style(self):
        body = self.text("/web/%scs_/%sstyle.css" % (FIRST, URL))
        self.assertIn("@import \"/web/%scs_/http://site.example/more.css\"" %
                      FIRST, body)
        self.assertIn("url(/web/%soe_/http://site.example/pic.png)" % FIRST,
                      body)

    def test_identity(self):
        body = self.text("/web/%sid_/%s" % (FIRST, URL))
        self.assertIn("href=\"/style.css\" integrity=\"sha256-AAAA\"", body)
        self.assertNotIn("replay_page.js", body)

    def test_charsets(self):
        status, headers, body = self.get("/web/%s/%swide" % (FIRST, URL))
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        self.assertIn("href='/web/%smp_/%sx'>wide" % (FIRST, URL),
                      body.decode())
        status, headers, body = self.get("/web/%s/%skana" % (FIRST, URL))
        self.assertEqual(headers["Content-Type"],
                         "text/html; charset=Shift_JIS")
        self.assertIn("href=\"/web/%smp_/%s\u8868\"" % (FIRST, URL),
                      body.decode("shift_jis"))

    def test_large_page(self):
        """One that is sent in pieces."""
        body = self.text("/web/%s/%sbig" % (FIRST, URL))
        self.assertEqual(body.count("/web/%smp_/%sx" % (FIRST, URL)), 60000)

    # --- headers

    def test_headers(self):
        status, headers, _ = self.get("/web/%s/%s" % (FIRST, URL))
        self.assertEqual(headers["X-Archive-Orig-Set-Cookie"],
                         "session=1; Path=/")
        self.assertEqual(headers["X-Archive-Orig-Content-Encoding"], "gzip")
        for name in ("Set-Cookie", "Strict-Transport-Security",
                     "X-Frame-Options", "Content-Encoding"):
            self.assertNotIn(name, headers)
        policies = headers.get_all("Content-Security-Policy")
        self.assertEqual(len(policies), 1)
        self.assertIn("sandbox allow-scripts", policies[0])
        self.assertNotIn("allow-same-origin", policies[0])
        self.assertIn("default-src 'self'", policies[0])

    def test_ranges(self):
        path = "/web/%sid_/%sbytes" % (FIRST, URL)
        whole = bytes(range(256)) * 4
        for asked, status, body, told in [
                ("bytes=0-9", 206, whole[:10], "bytes 0-9/1024"),
                ("bytes=1000-", 206, whole[1000:], "bytes 1000-1023/1024"),
                ("bytes=-4", 206, whole[-4:], "bytes 1020-1023/1024"),
                ("bytes=5-5000", 206, whole[5:], "bytes 5-1023/1024"),
                ("bytes=2000-", 416, b"", "bytes */1024"),
                ("bytes=9-1", 200, whole, None),
                ("bytes=0-1,4-5", 200, whole, None),
                ("lines=1-2", 200, whole, None)]:
            with self.subTest(asked=asked):
                got = self.get(path, Range=asked)
                self.assertEqual((got[0], got[2]), (status, body))
                self.assertEqual(got[1]["Content-Range"], told)
        self.assertEqual(self.get(path, method="HEAD")[1]["Content-Length"],
                         "1024")

    # --- pages

    def test_windows(self):
        """A window gets the page in a frame; the frame's own address does, too.
        """
        status, headers, body = self.get("/web/%s/%s" % (FIRST, URL),
                                         Sec_Fetch_Dest="document")
        self.assertEqual(status, 200)
        self.assertIn(b"<iframe id=\"replay\"", body)
        self.assertIn(b"/web/%smp_/%s\"" % (FIRST.encode(), URL.encode()),
                      body)
        self.assertIn(b"after \xe2\x86\x92", body)
        self.assertIn("frame-src 'self'", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Frame-Options"], "DENY")
        status, headers, _ = self.get("/web/%smp_/%s" % (FIRST, URL),
                                      Sec_Fetch_Dest="document")
        self.assertEqual((status, headers["Location"]),
                         (302, "/web/%s/%s" % (FIRST, URL)))

    def test_calendar(self):
        body = self.text("/web/*/" + URL)
        for part in ("<h2>2020</h2>", "<h2>2021</h2>", "January",
                     "/web/%s/%s" % (FIRST, URL), "2 captures"):
            self.assertIn(part, body)
        self.assertNotIn("2021</h2>", self.text("/web/2020*/" + URL))
        self.assertEqual(self.get("/web/*/%snever" % URL)[0], 404)

    def test_list(self):
        body = self.text("/web/*/%sp*" % URL)
        self.assertIn("/web/*/%spic.png" % URL, body)
        self.assertIn("/web/*/%spic2.png" % URL, body)
        self.assertNotIn("style.css", body)
        self.assertIn("style.css", self.text("/web/*/%s*" % URL))

    def test_difference(self):
        body = self.text("/difference?url=%s&a=%s&b=%s" % (URL, FIRST, SECOND))
        self.assertIn("2 lines removed, 2 added", body)
        self.assertIn("<td class=\"replay-removed\">Home of 2020", body)
        self.assertIn("<td class=\"replay-added\">Home of 2021", body)
        self.assertIn("the same.", self.text(
            "/difference?url=%ssame&a=%s&b=%s" % (URL, FIRST, SECOND)))
        self.assertEqual(self.get("/difference?url=%spic.png" % URL)[0], 400)

    def test_form(self):
        self.assertIn("<form", self.text("/"))
        for query, to in [("url=site.example&date=2020", "/web/2020/" + URL),
                          ("url=site.example", "/web/*/" + URL),
                          ("url=site.example/p&list=1",
                           "/web/*/%sp*" % URL)]:
            status, headers, _ = self.get("/web?" + query)
            self.assertEqual((status, headers["Location"]), (303, to))
        self.assertEqual(self.get("/web?url=")[0], 400)

    def test_hostile_text(self):
        """Text of a request is text in the answer."""
        for path in ("/web/http://a.example/<script>x</script>",
                     "/cdx?url=a.example&output=%3Cscript%3E",
                     "/difference?url=%22%3E%3Cscript%3E"):
            _, _, body = self.get(path)
            self.assertNotIn(b"<script>", body, path)

    # --- the whole crawl

    def test_hosts(self):
        """Pages and captures by host; those that are not shown are in no
        figure."""
        row = re.compile(r"<tr><th[^>]*><a href=\"([^\"]*)\">([^<]*)</a></th>"
                         r"<td><svg.*?</svg></td><td class=\"num\">(\d+)</td>"
                         r"<td class=\"num\">(\d+)</td>")
        hosts = {m[2]: (int(m[3]), int(m[4]))
                 for m in row.finditer(self.text("/hosts"))}
        lines = self.cdx("url=*.example&limit=1000")
        for host in (HOST, "www." + HOST, "other.example"):
            of = [x["url"] for x in lines
                  if x["url"].startswith("http://%s/" % host)]
            self.assertEqual(hosts[host], (len(set(of)), len(of)), host)
        self.assertEqual(sum(n for _, n in hosts.values()), len(lines))
        self.assertEqual(max(hosts.values()), hosts[HOST])
        self.write("list", "block other.example gone\n"
                   "block http://%s/ to=2020 gone\n" % HOST)
        self.serve("--block", "list")
        body = self.text("/hosts")
        self.assertNotIn("other.example", body)
        blocked = {m[2]: int(m[4]) for m in row.finditer(body)}
        self.assertEqual(blocked[HOST], hosts[HOST][1] - 1)

    def test_keys(self):
        """Each capture is in one cell of the plot."""
        body = self.text("/keys")
        cells = re.findall(r"<title>(\d+) captures?: ([^<]*)</title>", body)
        self.assertEqual(sum(int(n) for n, _ in cells),
                         len(self.cdx("url=*.example&limit=1000")))
        self.assertIn(HOST, {name for _, name in cells})
        self.assertIn(">2020-01-01T00:00:00Z<", body)
        self.assertIn(">2021-01-01T12:00:00Z<", body)

    def test_ranks(self):
        """The pages of a table of ranks, best first; without one, 404."""
        self.assertEqual(self.get("/ranks")[0], 404)
        self.assertNotIn("/ranks", self.text("/hosts"))
        self.stop()
        self.table("rank", "rank")
        for row, rank in (("example.site/", "0.25"), ("example.other/page",
                          "0.5"), ("example.never/", "0.125"),
                          ("example.site/old", "much"), ("a", "nan")):
            self.ok("put", "rank", row, "rank:=" + rank)
        self.serve()
        body = self.text("/ranks")
        at = [body.index(text) for text in (
            "/web/http://other.example/page", "/web/" + URL,
            "http://never.example/")]
        self.assertEqual(at, sorted(at))
        self.assertIn("Home 2021</a>", body)
        self.assertIn("not captured", body)
        self.assertNotIn("site.example/old", body)
        self.assertIn("PageRank of 3 pages", body)
        self.write("list", "block other.example gone\n")
        self.serve("--block", "list")
        self.assertNotIn("other.example", self.text("/ranks"))
        self.stop()
        said = self.fails(1, "replay", "web", "--ranks", "web")
        self.assertIn("rank", said)

    # --- Memento

    def test_memento(self):
        _, headers, _ = self.get("/web/%s/%s" % (FIRST, URL))
        self.assertEqual(headers["Memento-Datetime"],
                         "Wed, 01 Jan 2020 00:00:00 GMT")
        for part in ("<%s>; rel=\"original\"" % URL,
                     "<http://%s/web/%s>; rel=\"timegate\"" %
                     (self.address, URL),
                     "rel=\"timemap\"", "rel=\"first memento\"",
                     "rel=\"last next memento\"; "
                     "datetime=\"Fri, 01 Jan 2021 12:00:00 GMT\""):
            self.assertIn(part, headers["Link"])

    def test_time_gate(self):
        for date, to in [("Tue, 01 Jan 2019 00:00:00 GMT", FIRST),
                         ("Mon, 01 Feb 2021 00:00:00 GMT", SECOND)]:
            status, headers, _ = self.get("/web/" + URL, Accept_Datetime=date)
            self.assertEqual((status, headers["Location"]),
                             (302, "/web/%s/%s" % (to, URL)))
            self.assertIn("accept-datetime", headers["Vary"].lower())
            self.assertNotIn("Memento-Datetime", headers)

    def test_time_map(self):
        _, headers, body = self.get("/timemap/link/" + URL)
        self.assertEqual(headers["Content-Type"], "application/link-format")
        lines = body.decode().strip().split(",\n")
        self.assertEqual(len(lines), 5)
        self.assertIn("rel=\"self\"", lines[2])
        self.assertIn("/web/%s/%s>; rel=\"last memento\"" % (SECOND, URL),
                      lines[4])
        self.assertEqual(self.get("/timemap/link/%snever" % URL)[0], 404)

    # --- the index

    def cdx(self, query):
        return [json.loads(line) for line in self.text(
            "/cdx?output=json&" + query).splitlines()]

    def test_cdx(self):
        lines = self.cdx("url=" + URL)
        self.assertEqual([line["timestamp"] for line in lines], [FIRST, SECOND])
        self.assertEqual(lines[0]["urlkey"], "example,site)/")
        self.assertEqual(lines[0]["mime"], "text/html")
        self.assertEqual(lines[0]["filename"], "first.warc.gz")
        self.assertEqual(self.cdx("url=%sold" % URL)[0]["redirect"], "/new?a=1")
        text = self.text("/cdx?url=" + URL).splitlines()
        self.assertTrue(text[0].startswith("example,site)/ %s {\"url\"" %
                                           FIRST))

    def test_cdx_questions(self):
        def times(query):
            return [x["timestamp"] for x in self.cdx("url=%s&" % URL + query)]
        self.assertEqual(times("to=2020"), [FIRST])
        self.assertEqual(times("from=2021"), [SECOND])
        self.assertEqual(times("limit=1"), [FIRST])
        self.assertEqual(times("sort=reverse"), [SECOND, FIRST])
        self.assertEqual(times("sort=closest&closest=2022"), [SECOND, FIRST])
        self.assertEqual(times("closest=2019"), [FIRST, SECOND])
        self.assertEqual(times("filter=status:404"), [])
        self.assertEqual(times("filter=!=status:404"), [FIRST, SECOND])
        self.assertEqual(self.text("/cdx?output=text&fl=timestamp,status&url=" +
                                   URL), "%s 200\n%s 200\n" % (FIRST, SECOND))
        status, _, body = self.get("/cdx?url=a&matchType=all")
        self.assertEqual(status, 400)
        self.assertIn(b"none of exact, prefix, host, domain", body)

    def test_cdx_matches(self):
        def urls(query):
            return {x["url"] for x in self.cdx(query)}
        host = urls("url=%s&matchType=host" % HOST)
        self.assertIn("http://www.%s/alias" % HOST, host)
        self.assertIn(URL + "style.css", host)
        self.assertEqual(urls("url=%sp*" % URL),
                         {URL + "pic.png", URL + "pic2.png"})
        self.assertTrue(host < urls("url=example&matchType=domain"))
        self.assertIn("http://other.example/page", urls("url=*.example"))

    # --- isolation

    def test_cdx_regex(self):
        """A filter with ~ is a regular expression, from the field's beginning;
        one that is none is an error."""
        def dates(question):
            return [line.split()[1] for line in
                    self.text("/cdx?url=%s&%s" % (URL, question)).splitlines()]
        self.assertEqual(dates("filter=~timestamp:20[2]0"), [FIRST])
        self.assertEqual(dates("filter=!~timestamp:2020"), [SECOND])
        self.assertEqual(dates("filter=~timestamp:0101"), [])
        self.assertEqual(dates("filter=~mime:text/(html|plain)$"),
                         [FIRST, SECOND])
        status, _, body = self.get("/cdx?url=%s&filter=~mime:(" % URL)
        self.assertEqual(status, 400)
        self.assertIn(b"filter", body)

    def test_blocked(self):
        """Captures that a list blocks are in no page, list, index, time map: 451, with
        the reason, where nothing else is left."""
        self.write("list", "# asked for\n"
                           "block http://site.example/new* they <asked> us\n"
                           "block site.example to=2020 before 2021\n")
        self.serve("--block", "list", "--proxy")
        status, _, body = self.get("/web/%s/%snew?a=1" % (FIRST, URL))
        self.assertEqual(status, 451)
        self.assertIn(b"they &lt;asked&gt; us", body)
        status, headers, _ = self.get("/web/%s/%s" % (FIRST, URL))
        self.assertEqual(headers["Location"], "/web/%s/%s" % (SECOND, URL))
        self.assertEqual(len(self.text("/cdx?url=" + URL).splitlines()), 1)
        self.assertNotIn(FIRST, self.text("/cdx?url=%s*&limit=1000" % URL))
        self.assertNotIn(FIRST, self.text("/timemap/link/" + URL))
        self.assertNotIn(FIRST, self.text("/web/*/" + URL))
        self.assertEqual(self.get("/web/*/%sold" % URL)[0], 451)
        self.assertEqual(self.get("/timemap/link/%sold" % URL)[0], 451)
        self.assertEqual(self.get("http://%s/new?a=1" % HOST)[0], 451)
        self.assertEqual(self.get("/web/2020/%snothing" % URL)[0], 404)
        self.write("bad", "forbid x\n")
        text = self.fails(1, "replay", "web", "--block", "bad")
        self.assertIn("bad: line 1", text)

    def test_noarchive(self):
        """Pages that ask not to be archived are shown unless --noarchive."""
        page = "<html><head><meta name=robots content='noindex,NOARCHIVE'>"
        self.write("third.warc", response(URL + "private", FIRST, page) +
                   response(URL + "header", FIRST, "x", headers=[
                       "X-Robots-Tag: noarchive"]))
        self.stop()
        self.ok("import", "warc", "third.warc", "--into", "web")
        for options, status in ([], 200), (["--noarchive"], 451):
            self.serve(*options)
            for name in "private", "header":
                self.assertEqual(self.get("/web/%sid_/%s%s" % (
                    FIRST, URL, name))[0], status)
            self.assertEqual(self.get("/web/%sid_/%s" % (FIRST, URL))[0], 200)

    def test_robots(self):
        """With --robots the robots.txt that was archived before a capture
        counts for it, the first for older ones; by host and port."""
        def robots(digits, text, status="200 OK", host=HOST):
            return response("http://%s/robots.txt" % host, digits, text,
                            "text/plain", status)
        self.write("third.warc", robots(
            "20200601000000", "User-agent: *\nDisallow: /same\n"
            "User-agent: keeper\nDisallow: /old\n") + robots(
                "20200901000000", "User-agent: *\nDisallow: /", "404 Gone") +
            robots("20201201000000", "User-agent: *\nDisallow: /new\n"
                   "Allow: /new?a=1$\n") + robots(
                       FIRST, "User-agent: *\nDisallow: /",
                       host="other.example:8080"))
        self.stop()
        self.ok("import", "warc", "third.warc", "--into", "web")
        for agent, first, second in (
                ("*", {"same": 451, "old": 301}, {"same": 200, "new?a=1": 200}),
                ("Keeper", {"same": 200, "old": 451}, {"same": 200})):
            self.serve("--robots", agent)
            for date, pages in ((FIRST, first), (SECOND, second)):
                for name, status in pages.items():
                    got = self.get("/web/%sid_/%s%s" % (date, URL, name))
                    if status == 451 and got[0] == 302:
                        # Of another date, which is shown.
                        self.assertNotIn(date, got[1]["Location"])
                        continue
                    self.assertEqual(got[0], status, (agent, date, name))
            self.assertEqual(self.get("/web/20200601000000id_/%srobots.txt" %
                                      URL)[0], 200)
            self.assertEqual(self.get("/web/%sid_/http://other.example/page" %
                                      FIRST)[0], 200)
        self.stop()
        self.assertIn("name a robot",
                      self.fails(1, "replay", "web", "--robots", ""))

    def test_methods(self):
        for method in ("POST", "PUT", "DELETE", "CONNECT"):
            self.assertEqual(self.get("/", method=method)[0], 405, method)

    def test_names(self):
        self.assertEqual(self.get("/", Host="evil.example")[0], 421)
        self.assertEqual(self.get("http://site.example/",
                                  Host="site.example")[0], 421)

    def test_other_sites(self):
        """A page of another site reads nothing; one of the archive, which
        knows the server's secret, does."""
        path = "/web/%sim_/%spic.png" % (FIRST, URL)
        foreign = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}
        self.assertEqual(self.get(path, **foreign)[0], 403)
        self.assertEqual(self.get("/~" + 32 * "0" + path, **foreign)[0], 403)
        page = self.text("/web/%s/%s" % (FIRST, URL), Sec_Fetch_Dest="document")
        secret = re.search("src=\"(/~[0-9a-f]{32})/web/", page).group(1)
        status, headers, _ = self.get(secret + path, Origin="null", **foreign)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Access-Control-Allow-Origin"], "null")
        status, headers, _ = self.get(path)
        self.assertEqual(status, 200)
        self.assertNotIn("Access-Control-Allow-Origin", headers)
        # Links of the page keep the secret.
        body = self.text("%s/web/%smp_/%s" % (secret, FIRST, URL), **foreign)
        self.assertIn("src=\"%s/web/%sjs_/http" % (secret, FIRST), body)
        self.assertNotIn("src=\"/web", body)
        self.assertEqual(
            self.get("%s/web/%smp_/%sold" % (secret, FIRST, URL),
                     **foreign)[1]["Location"],
            "%s/web/%smp_/%snew?a=1" % (secret, FIRST, URL))

    def test_port_in_use(self):
        said = self.fails(1, "replay", "web", "--listen", self.address)
        self.assertIn("the port is in use", said)

    def test_other_tables(self):
        self.table("plain", "f")
        said = self.fails(1, "replay", "plain")
        self.assertIn("is no table of web pages", said)

    # --- the proxy

    def test_proxy(self):
        self.serve("--proxy")
        ask = {"Host": HOST}
        status, headers, body = self.get(URL, **ask)
        self.assertEqual(status, 200)
        self.assertIn(b"Home of 2021", body)
        self.assertIn(b"href=\"/style.css\"", body)
        self.assertIn("Memento-Datetime", headers)
        _, _, body = self.get(URL, Accept_Datetime="Wed, 01 Jan 2020 00:00:00 "
                              "GMT", **ask)
        self.assertIn(b"Home of 2020", body)
        status, headers, _ = self.get(URL + "old", **ask)
        self.assertEqual((status, headers["Location"]), (301, "/new?a=1"))
        self.assertEqual(self.get(URL + "never", **ask)[0], 404)
        self.assertIn(b"<form", self.get("http://%s/" % self.address)[2])
        c = http.client.HTTPConnection(self.address, timeout=120)
        c.set_tunnel("site.example", 443)
        with self.assertRaisesRegex(OSError, "405"):
            c.connect()
        c.close()


if __name__ == "__main__":
    main()

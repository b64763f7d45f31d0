#!/usr/bin/env python3
"""Parts of the benchmark of search: search.sh calls them.

    search.py corpus WORK PAGES ROOT…    pages of HTML below ROOT, and as many made
                                         of their paragraphs as PAGES lack:
                                         docs.tsv, crawl.warc.gz, queries.tsv
    search.py fts5 WORK                  index docs.tsv, answer queries.tsv
    search.py serve WORK HOST:PORT PID   ask a server of quarry search
    search.py score WORK NAME            MRR@10 of WORK/NAME.results

A query is the title of a page, or the text of a link to it; that link is left out
of what is indexed, and the page that it stands on, of the results. The one right
answer is the page.
"""

import gzip
import hashlib
import html.parser
import http.client
import json
import os
import random
import re
import sqlite3
import sys
import time
import urllib.parse

BLOCKS = {"p", "div", "li", "td", "th", "dt", "dd", "pre", "h1", "h2", "h3",
          "h4", "h5", "h6", "tr", "table", "ul", "ol", "section", "br", "title"}
HIDDEN = {"script", "style", "noscript", "template", "select", "svg", "object"}
FILE_BYTES_MAX = 150_000
QUERIES = 400
HELD_OUT = "held out" # Of kinds of queries: half, by a hash of the query.


class Reader(html.parser.HTMLParser):
    """Title, headings, paragraphs and links of a page."""

    def __init__(self, url):
        super().__init__(convert_charrefs=True)
        self.url, self.title, self.parts, self.links = url, "", [], []
        self.text, self.tag, self.hidden, self.href = [], "p", 0, None
        self.link_text = []

    def flush(self):
        text = " ".join("".join(self.text).split())
        self.text = []
        if text and self.tag == "title":
            self.title = self.title or text
        elif text:
            self.parts.append((self.tag in ("h1", "h2", "h3"), text))

    def handle_starttag(self, tag, attrs):
        if tag in HIDDEN:
            self.hidden += 1
        if tag in BLOCKS:
            self.flush()
            self.tag = tag
        if tag == "a":
            self.href, self.link_text = dict(attrs).get("href"), []

    def handle_endtag(self, tag):
        if tag in HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        if tag in BLOCKS:
            self.flush()
            self.tag = "p"
        if tag == "a" and self.href:
            text = " ".join("".join(self.link_text).split())
            try:
                to = urllib.parse.urljoin(self.url, self.href).split("#")[0]
            except ValueError:
                to = ""
            if text and to and to != self.url:
                self.links.append((to, text))
            self.href = None

    def handle_data(self, data):
        if not self.hidden:
            self.text.append(data)
            self.link_text.append(data)


def read_pages(roots):
    pages = {}
    for root in roots:
        for top, _, names in sorted(os.walk(root, followlinks=True)):
            for name in sorted(names):
                path = os.path.join(top, name)
                if not name.endswith((".html", ".htm")) or \
                        os.path.getsize(path) > FILE_BYTES_MAX:
                    continue
                rest = os.path.relpath(path, root).split("/")
                url = "http://%s.example/%s" % (
                    re.sub("[^a-z0-9]+", "-", rest[0].lower()).strip("-"),
                    urllib.parse.quote("/".join(rest[1:])))
                with open(path, encoding="utf-8", errors="replace") as f:
                    reader = Reader(url)
                    reader.feed(f.read())
                    reader.flush()
                if reader.title and len(reader.parts) > 3:
                    pages[url] = reader
    return pages


def made_pages(pages, count, chance):
    """Pages of paragraphs of others, with titles of their headings."""
    real = list(pages.values())
    parts = [text for page in real for head, text in page.parts if not head]
    heads = [text for page in real for head, text in page.parts if head]
    for i in range(count):
        page = Reader("http://made%d.example/page%d" % (i % 97, i))
        page.title = "%s %d" % (chance.choice(heads)[:100], i)
        model = chance.choice(real)
        for head, _ in model.parts:
            page.parts.append((head, chance.choice(heads if head else parts)))
        pages[page.url] = page


def choose_queries(pages, chance):
    """(kind, query, target, source), and the links that are left out."""
    count = {}
    for page in pages.values():
        count[page.title] = count.get(page.title, 0) + 1
    titles = [p for p in pages.values() if count[p.title] == 1]
    links = [(p, to, text) for p in pages.values() for to, text in p.links
             if to in pages and 2 <= len(text.split()) <= 12 and
             re.search(r"[a-z]{3}", text.lower()) and to != p.url]
    targets = {}
    for link in links:
        targets.setdefault(link[2].lower(), set()).add(link[1])
    links = [link for link in links if len(targets[link[2].lower()]) == 1]
    queries = [("title", p.title, p.url, "") for p in
               chance.sample(titles, min(QUERIES, len(titles)))]
    left_out = set()
    for page, to, text in chance.sample(links, min(QUERIES, len(links))):
        queries.append(("link", text, to, page.url))
        left_out.add((page.url, to))
    return queries, left_out


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(
        ">", "&gt;").replace('"', "&quot;")


def page_html(page, links):
    out = ["<!doctype html><html><head><meta charset=\"utf-8\"><title>%s"
           "</title></head><body>" % escape(page.title)]
    for head, text in page.parts:
        tag = "h2" if head else "p"
        out.append("<%s>%s</%s>" % (tag, escape(text), tag))
    # Links without text of their own in the page: it is in its parts already.
    for to, text in links:
        out.append("<a href=\"%s\"><img alt=\"%s\"></a>" % (escape(to),
                                                          escape(text)))
    return "".join(out).encode() + b"</body></html>\n"


def record(url, body):
    block = (b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
             + body)
    return ("WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: "
            "2024-01-01T00:00:00Z\r\nWARC-Target-URI: %s\r\nContent-Type: "
            "application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n" %
            (url, len(block))).encode() + block + b"\r\n\r\n"


def corpus(work, count, *roots):
    chance = random.Random(1)
    pages = read_pages(roots)
    real = len(pages)
    if not real:
        sys.exit("search: no HTML below " + " ".join(roots))
    queries, left_out = choose_queries(pages, chance)
    made_pages(pages, max(0, int(count) - real), chance)
    anchors = {}
    for page in pages.values():
        seen = set()
        page.links = [(to, text) for to, text in page.links
                      if to in pages and (page.url, to) not in left_out and
                      not (to in seen or seen.add(to))]
        for to, text in page.links:
            anchors.setdefault(to, []).append(text)
    text_bytes = 0
    with gzip.open(work + "/crawl.warc.gz", "wb", 1) as warc, \
            open(work + "/docs.tsv", "w", encoding="utf-8") as docs:
        for url, page in pages.items():
            warc.write(record(url, page_html(page, page.links)))
            body = " ".join(text for _, text in page.parts)
            fields = [url, page.title,
                      " . ".join(dict.fromkeys(anchors.get(url, []))), body]
            text_bytes += sum(len(f.encode()) for f in fields)
            docs.write("\t".join(fields) + "\n")
    with open(work + "/queries.tsv", "w", encoding="utf-8") as f:
        for query in queries:
            f.write("\t".join(query) + "\n")
    with open(work + "/facts.json", "w", encoding="utf-8") as f:
        json.dump({"pages": len(pages), "real": real,
                   "text_bytes": text_bytes}, f)


def read_queries(work):
    with open(work + "/queries.tsv", encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f]


def words_of(query):
    return re.findall(r"\w+", query.lower())


def cpu():
    t = os.times()
    return t.user + t.system


def put_results(work, name, results, spent):
    """A line a query: URLs of the best; and CPU seconds of each part."""
    with open("%s/%s.results" % (work, name), "w", encoding="utf-8") as f:
        for urls in results:
            f.write("\t".join(urls) + "\n")
    with open("%s/%s.json" % (work, name), "w", encoding="utf-8") as f:
        json.dump(spent, f)


def fts5(work):
    path = work + "/fts5.db"
    if os.path.exists(path):
        os.remove(path)
    begin = cpu()
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE d USING fts5(url UNINDEXED, title, anchor, "
               "body, content='', contentless_delete=0)"
               if sqlite3.sqlite_version_info >= (3, 43) else
               "CREATE VIRTUAL TABLE d USING fts5(url UNINDEXED, title, anchor, "
               "body, content='')")
    urls = []
    with open(work + "/docs.tsv", encoding="utf-8") as f:
        for i, line in enumerate(f):
            fields = line.rstrip("\n").split("\t")
            urls.append(fields[0])
            db.execute("INSERT INTO d(rowid, title, anchor, body) "
                       "VALUES (?, ?, ?, ?)", (i, *fields[1:]))
    db.commit()
    db.execute("INSERT INTO d(d) VALUES ('optimize')")
    db.commit()
    built = cpu() - begin
    results, begin = [], cpu()
    for _, query, _, _ in read_queries(work):
        match = " OR ".join('"%s"' % w for w in words_of(query))
        rows = db.execute("SELECT rowid FROM d WHERE d MATCH ? ORDER BY "
                          "bm25(d, 0, 4, 4, 1) LIMIT 11",
                          (match,)).fetchall() if match else []
        results.append([urls[r[0]] for r in rows])
    put_results(work, "fts5", results, {
        "build_cpu_s": built, "bytes": os.path.getsize(path),
        "query_cpu_ms": (cpu() - begin) * 1000 / len(results)})


def process_cpu(pid):
    """CPU seconds of a process's threads, to the nanosecond."""
    spent = 0
    top = "/proc/%s/task" % pid
    for thread in os.listdir(top):
        with open("%s/%s/schedstat" % (top, thread), encoding="ascii") as f:
            spent += int(f.read().split()[0])
    return spent / 1e9


def part(values, of_thousand):
    values = sorted(values)
    return values[min(len(values) * of_thousand // 1000, len(values) - 1)]


def serve(work, address, pid):
    c = http.client.HTTPConnection(address, timeout=120)
    queries = read_queries(work)
    for _ in range(2): # The first one warms the caches.
        results, walls, cpus = [], [], []
        for _, query, _, _ in queries:
            before, at = process_cpu(pid), time.monotonic()
            c.request("GET", "/search.json?all=1&limit=11&q=" +
                      urllib.parse.quote(" ".join(words_of(query))))
            doc = json.loads(c.getresponse().read())
            walls.append((time.monotonic() - at) * 1000)
            cpus.append((process_cpu(pid) - before) * 1000)
            results.append([r["url"] for r in doc.get("results", [])])
    put_results(work, "quarry", results, {
        "query_cpu_ms": sum(cpus) / len(cpus),
        "query_p50_cpu_ms": part(cpus, 500),
        "query_p99_cpu_ms": part(cpus, 990),
        "query_p50_ms": part(walls, 500), "query_p99_ms": part(walls, 990)})


def is_held_out(query):
    """Nothing is tuned on these."""
    return hashlib.sha256(query.encode()).digest()[0] % 2 == 1


def score(work, name):
    with open("%s/%s.results" % (work, name), encoding="utf-8") as f:
        results = [line.rstrip("\n").split("\t") for line in f]
    sums, counts = {}, {}
    for (kind, query, target, source), urls in zip(read_queries(work), results):
        urls = [u for u in urls if u != source][:10]
        if is_held_out(query):
            kind += ", " + HELD_OUT
        counts[kind] = counts.get(kind, 0) + 1
        if target in urls:
            sums[kind] = sums.get(kind, 0) + 1 / (1 + urls.index(target))
    print(json.dumps({kind: round(sums.get(kind, 0) / counts[kind], 4)
                      for kind in counts}))


if __name__ == "__main__":
    {"corpus": corpus, "fts5": fts5, "serve": serve,
     "score": score}[sys.argv[1]](*sys.argv[2:])

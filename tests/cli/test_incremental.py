"""Observers that are jobs: after any interleaving of pages that come, change and
go, and of runners that are killed, their tables are what the jobs make of all
pages."""

import csv
import io
import os
import random
import signal
import time

from harness import ROOT, CliTest, main

EXAMPLE = os.path.join(ROOT, "examples", "incremental")
WORDS = "loaf oats salt rye yeast mill crust oven flour sour".split()
PAGES = 12


class IncrementalTest(CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("it kills the runner of a directory")
        self.ok("table", "create", "pages", "--changes", "7d",
                "--transactions", "--family", "contents,versions=1",
                "--family", "http,versions=1")
        for name, family in (("graph", "link"), ("anchors", "anchor"),
                             ("index", "doc"), ("copies", "page")):
            self.ok("table", "create", name, "--transactions", "--family",
                    family + ",versions=1")

    def observe(self, name, *program):
        self.ok("observer", "create", name, "--table", "pages", "--column",
                "contents", "--output", name, *program)

    def observe_all(self):
        self.observe("graph", "--job", "link_graph", "--param",
                     "links=contents")
        self.observe("anchors", "--job", "anchor_texts")
        self.observe("index", "--job", "inverted_index")
        self.observe("copies", "--saw",
                     os.path.join(EXAMPLE, "copies.szl"))
        self.ok("view", "create", "duplicates", "AS",
                os.path.join(ROOT, "jobs", "duplicates.szl"), "--table",
                "pages")

    def some_changes(self, r):
        """Lines for the shell: pages that come or change, and that go."""
        lines = []
        for _ in range(r.randrange(1, 8)):
            row = "org.mill.www/p%d" % r.randrange(PAGES)
            if r.random() < 0.25:
                lines.append("delete pages %s" % row)
                continue
            text = " ".join(r.choices(WORDS, k=r.randrange(0, 6)))
            links = "".join(
                "<a href=/p%d>%s</a>" % (r.randrange(PAGES), r.choice(WORDS))
                for _ in range(r.randrange(0, 3)))
            lines.append("put pages %s 'contents:=<html>%s%s</html>' "
                         "http:url=http://www.mill.org/%s" % (
                             row, text, links, row.split("/")[1]))
        return "\n".join(lines) + "\n"

    def cells(self, table):
        """Of @table: (row, column, value), but not the times."""
        out = self.ok("scan", table, "--versions", "1", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        return sorted(tuple(v for k, v in row.items() if "time" not in k)
                      for row in rows)

    def check(self):
        for name, job, *params in (
                ("graph", "link_graph", "--param", "links=contents"),
                ("anchors", "anchor_texts"), ("index", "inverted_index")):
            made = "batch-" + name
            self.ok("job", "run", job, "--local", "--input",
                    "table:pages?versions=1", "--output", "table:" + made,
                    *params)
            self.assertEqual(self.cells(name), self.cells(made), name)
            self.ok("table", "drop", made)
        copies = csv.DictReader(io.StringIO(self.ok(
            "saw", os.path.join(EXAMPLE, "copies.szl"), "--table", "pages",
            "--format", "csv")))
        self.assertEqual(
            [(c[0], c[-2]) for c in self.cells("copies")],
            [(c["contents"], c["key"]) for c in copies])
        self.assertEqual(
            self.ok("view", "show", "duplicates"),
            self.ok("saw", os.path.join(ROOT, "jobs", "duplicates.szl"),
                    "--table", "pages"))

    def test_interleavings(self):
        """Whatever comes between, and whenever the runner is killed, all is
        as the jobs make it once the observers have caught up."""
        seed = int(os.environ.get("QUARRY_SEED", "7"))
        print("seed", seed)
        r = random.Random(seed)
        self.observe_all()
        for _ in range(2):
            for _ in range(3):
                self.ok("shell", stdin=self.some_changes(r))
                runner = self.start("follow", "run")
                time.sleep(r.random() * 2)
                runner.send_signal(signal.SIGKILL)
                runner.wait()
            self.ok("shell", stdin=self.some_changes(r))
            self.ok("follow", "run", "--until-caught-up")
            self.check()

    def test_refusals(self):
        """A job that cannot work row by row, or a parameter that it has not,
        is refused in a sentence."""
        self.assertIn("--param x: NAME=VALUE", self.fails(
            2, "observer", "create", "x", "--table", "pages", "--column",
            "contents", "--job", "link_graph", "--param", "x"))
        self.assertIn("--param is of --job", self.fails(
            2, "observer", "create", "x", "--table", "pages", "--column",
            "contents", "--param", "x=1"))
        for options, why in (
                (("--job", "top_hosts"), "no job that runs row by row"),
                (("--job", "no_such"), "no job that runs row by row"),
                (("--job", "link_graph", "--param", "x=1"),
                 "takes no parameter x")):
            self.assertIn(why, self.fails(
                1, "observer", "create", "bad", "--table", "pages",
                "--column", "contents", "--output", "graph", *options))
        self.assertEqual(self.json("observer", "list"), [])


main()

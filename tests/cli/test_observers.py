"""Observers with programs on the command line: Sawzall, commands and Python;
rows that fail, limits and the cage."""

import json

from harness import CliTest, main

WORDS = """doc: table sum[word: string][page: string] of int;
r: Row = input;
text: bytes = cell(r, "c:text");
if (def(text)) {
  words: array of string = splitcsvline(text);
  for (i: int = 0; i < len(words); i++)
    emit doc[words[i]][string(r.key)] <- 1;
}
"""

# Counts its own runs: each put of c:text must be counted once.
COUNT = """import json
def count(row):
    n = int(row.value("g:n", b"0")) + row.changed.count("c:text")
    yield row.key, "g:n", n
    print("to standard error")
def fail(row):
    if row.value("c:text") == b"bad":
        raise ValueError("not this one")
    yield "all", b"g:\\xff" + row.key, row.value("c:text")
def hog(row):
    return [("all", "g:x", len(b"x" * (1 << 30)))]
"""


COPY = """import json,sys
for line in sys.stdin:
  r = json.loads(line)
  v = (r["cells"] or {}).get("c:text")
  print(json.dumps([{"row": r["row"], "set": {"g:x": v}}] if v else []))
"""


class ObserversTest(CliTest):
    def setUp(self):
        super().setUp()
        self.write("words.szl", WORDS)
        self.write("count.py", COUNT)
        self.ok("table", "create", "t", "--family", "c,versions=1", "--family",
                "g,versions=1", "--changes", "1d", "--transactions")
        self.ok("table", "create", "out", "--family", "doc,versions=1",
                "--family", "g,versions=1", "--transactions")
        self.ok("table", "create", "copies", "--family", "g,versions=1",
                "--transactions")

    def create(self, name, *options):
        self.ok("observer", "create", name, "--table", "t", "--column", "c",
                *options)

    def put(self, *texts):
        """Pairs "row=text"."""
        self.ok("shell", stdin="".join(
            "put t %s c:text=%s\n" % tuple(t.split("=", 1)) for t in texts))

    def follow(self):
        self.ok("follow", "run", "--until-caught-up")

    def cells(self, table="out"):
        """{(row, column): value}"""
        rows = map(json.loads, self.ok("scan", table, "--versions", "1",
                                       "--format", "json").splitlines())
        return {(r["row"], "%s:%s" % (c["family"], c.get(
            "qualifier", c.get("qualifier_base64")))): c.get("value")
                for r in rows for c in r["cells"]}

    def test_effects(self):
        """Sawzall's cells are those that the rows stand for; effects that are
        not idempotent are there once for each change; bytes that are no text
        come and go."""
        self.create("words", "--saw", "words.szl", "--output", "out")
        self.create("count", "--python", "count.py:count", "--writes", "t:g",
                    "--output", "t")
        self.create("copy", "--command", "python3 -c '%s'" % COPY, "--output",
                    "copies")
        self.put("a=the,cat", "a=the,cat,the", "b=the,bird",
                 *("r%02d=x" % i for i in range(30)), "z=\\xff\\x00")
        self.follow()
        self.assertEqual({k: v for k, v in self.cells().items()
                          if k[0] not in ("x", None)}, {
            ("the", "doc:a"): "2", ("cat", "doc:a"): "1",
            ("the", "doc:b"): "1", ("bird", "doc:b"): "1"})
        self.put("a=the,dog")
        self.ok("put", "t", "c", "c:other=1")
        self.ok("delete", "t", "b")
        self.follow()
        self.assertEqual({k: v for k, v in self.cells().items()
                          if k[0] not in ("x", None)}, {
            ("the", "doc:a"): "1", ("dog", "doc:a"): "1"})
        cells = self.cells("t")
        self.assertEqual((cells["a", "g:n"], cells["c", "g:n"]), ("3", "0"))
        self.assertEqual(self.ok("get", "copies", "z", "g:x",
                                 "--versions", "1").split()[-1],
                         "\\xff\\x00")
        row = self.json("observer", "list")[-1]
        self.assertEqual((row["observer"], row["program"], row["aside"]),
                         ("words", "saw", 1))  # z is no UTF-8
        self.assertIn("table sum", self.ok("observer", "show", "words"))
        self.ok("observer", "pause", "words")
        self.assertIn("paused", self.ok("observer", "list"))
        self.ok("observer", "resume", "words")
        self.ok("observer", "drop", "words")
        self.ok("observer", "drop", "copy")
        self.assertEqual(self.json("scan", ".observers"), [])

    def test_refusals(self):
        """A program that cannot run is refused when it is made."""
        def refused(*options):
            return self.fails(1, "observer", "create", "x", "--table", "t",
                              "--column", "c", *options)
        self.write("bad.szl", "x: table sum of int;\nemit x <- 1;\n")
        self.write("clock.szl", WORDS + "t: time = now();\n")
        self.assertIn("output table", refused("--saw", "words.szl"))
        self.assertIn("r: Row", refused("--saw", "bad.szl", "--output", "out"))
        self.assertIn("clock", refused("--saw", "clock.szl", "--output",
                                       "out"))
        self.assertIn("is empty", refused("--command", ""))
        self.assertIn("trigger itself", refused("--command", "cat",
                                                "--writes", "t:c"))
        self.assertIn("at most 49152", refused("--command", "x" * 60000))
        self.assertEqual(self.json("observer", "list"), [])

    def test_rows_that_fail(self):
        """They are put aside with the reason, alone, and tried again by
        themselves. Time and memory are limited, and
        nothing of the user's is seen."""
        self.write("secret", "s")
        self.create("fail", "--python", "count.py:fail", "--output", "out",
                    "--retry", "10ms")
        self.create("slow", "--command", "sleep 60", "--timeout", "300ms",
                    "--tries", "1")
        self.create("hog", "--python", "count.py:hog", "--memory", "64MiB",
                    "--tries", "1", "--output", "out")
        self.create("die", "--command", "echo oh no >&2; exit 3", "--tries",
                    "1")
        self.create("cage", "--stay", "--tries", "1", "--command",
                    "read -r line; cat %s >&2; echo '{\"error\": \"ran\"}'" %
                    self.path("secret"))
        self.put("r1=bad")
        done = self.run_quarry("follow", "run", "--until-caught-up")
        if b"namespaces" in done.stderr:
            self.skipTest("this kernel gives no namespaces")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, why in (("slow", "no answer of the command in 300 ms"),
                          ("hog", "emory"),
                          ("die", "ended with status 3: oh no"),
                          ("cage", "ran"),
                          ("fail", "line 8: ValueError: not this one")):
            self.assertIn(why, self.ok("observer", "log", name))
            if name != "fail":
                self.ok("observer", "drop", name)
        self.put(*("r%02d=%s" % (i, "bad" if i in (3, 11) else "good")
                   for i in range(20)))
        self.follow()
        self.assertEqual(len(self.cells()), 18)
        self.assertEqual([r["row"] for r in self.json("observer", "log",
                                                      "fail")],
                         ["r03", "r1", "r11"])
        self.put("r03=good", "r1=good")
        self.follow()
        self.assertEqual([r["row"] for r in self.json("observer", "log",
                                                      "fail")], ["r11"])
        self.assertEqual(len(self.cells()), 20)


if __name__ == "__main__":
    main()

"""Options that choose rows mean the same to every command: a row must satisfy
all of them. Random combinations beside a model."""

import json
import random

from harness import CliTest, main

ROWS = ["a", "a1", "a2", "a3", "ab", "b", "b1", "ba", "c"]
ENDS = ROWS + ["a0", "a5", "az", "bz", "d"]
PREFIXES = ["a", "a2", "b", "c", "x", ""]


class Choice:
    """Options that were drawn, and which rows they stand for."""

    def __init__(self, draw, repeated=True, keys=True):
        self.prefixes = draw.sample(PREFIXES, draw.choice(
            [0, 1, 1, 2] if repeated else [0, 1, 1]))
        self.start = draw.choice([None, draw.choice(ENDS)])
        self.end = draw.choice([None, draw.choice(ENDS)])
        self.rows = draw.sample(ENDS, 4) if keys and draw.random() < .3 else []

    def is_empty(self):
        return not (self.prefixes or self.start or self.end or self.rows)

    def options(self):
        out = []
        for name in ("prefixes", "rows"):
            option = {"prefixes": "--prefix", "rows": "--row"}[name]
            for value in getattr(self, name):
                out += [option, value]
        if self.start is not None:
            out += ["--start", self.start]
        if self.end is not None:
            out += ["--end", self.end]
        return out

    def spec(self):
        parts = ["prefix=" + p for p in self.prefixes]
        parts += ["start=" + self.start] if self.start is not None else []
        parts += ["end=" + self.end] if self.end is not None else []
        random.Random(len(parts)).shuffle(parts)
        return "table:t" + ("?" + "&".join(parts) if parts else "")

    def has(self, row):
        return ((not self.prefixes or any(map(row.startswith, self.prefixes)))
                and (self.start is None or row >= self.start)
                and (self.end is None or row < self.end)
                and (not self.rows or row in self.rows))

    def wanted(self):
        return [row for row in ROWS if self.has(row)]


class RowRanges(CliTest):
    def fill(self, name="t"):
        self.write("rows.tsv", "".join("%s\tf:q\t1\t%s\n" % (r, r)
                                       for r in ROWS))
        self.table(name)
        self.ok("load", name, "rows.tsv")

    def test_reading(self):
        """scan, count, export and saw read the rows that satisfy all options.
        """
        self.fill()
        draw = random.Random(1)
        for _ in range(25):
            c = Choice(draw)
            options = c.options()
            self.assertEqual(self.ok("scan", "t", "--keys-only",
                                     *options).split(), c.wanted(), options)
        for _ in range(6):
            c = Choice(draw)
            options = c.options()
            self.assertEqual(self.json("count", "t", *options)[0]["rows"],
                             len(c.wanted()), options)
            self.assertEqual(
                [json.loads(line)["row"] for line in self.ok(
                    "export", "t", *options).splitlines()],
                c.wanted(), options)
            self.assertEqual(
                self.ok("saw", "-e", "r: Row = input; found: table collection "
                        "of bytes; emit found <- r.key;", "--table", "t",
                        *options).count("found[] = "), len(c.wanted()), options)

    def test_deleting(self):
        """delete takes the rows that satisfy all options, and no other."""
        draw = random.Random(2)
        self.fill("t0")
        self.ok("delete", "t0", "--prefix", "a", "--start", "a2")
        self.assertEqual(self.ok("scan", "t0", "--keys-only").split(),
                         ["a", "a1", "b", "b1", "ba", "c"])
        self.ok("delete", "t0", "--start", "b", "--end", "a")
        self.ok("delete", "t0", "--prefix", "a", "--start", "c")
        self.assertEqual(self.json("count", "t0")[0]["rows"], 6)
        for i in range(1, 6):
            c = Choice(draw, keys=False)
            if c.is_empty():
                continue
            self.fill("t%d" % i)
            self.ok("delete", "t%d" % i, *c.options())
            self.assertEqual(
                self.ok("scan", "t%d" % i, "--keys-only").split(),
                [r for r in ROWS if not c.has(r)], c.options())

    def test_inputs_of_jobs(self):
        """A job's input reads the rows that satisfy all options."""
        self.fill()
        draw = random.Random(3)
        self.write("keys.szl", "r: Row = input; found: table collection "
                   "of bytes; emit found <- r.key;")
        for i in range(4):
            c = Choice(draw, repeated=False, keys=False)
            out = "out%d" % i
            self.ok("job", "run", "keys.szl", "-i", c.spec(), "-o",
                    "file:" + out)
            text = b""
            for name in self.files_below(out):
                with open(name, "rb") as f:
                    text += f.read()
            self.assertEqual(text.count(b"found[] = "), len(c.wanted()),
                             c.spec())

    def test_what_would_delete_too_much(self):
        """An option that delete cannot heed is refused, not ignored."""
        self.fill()
        for words in (["a", "--since", "5"], ["a", "f", "--until", "5"],
                      ["--prefix", "a", "--since", "5"],
                      ["--start", "a", "--end", ""],
                      ["a", "--prefix", "a"]):
            self.fails(2, "delete", "t", *words)
        self.assertEqual(self.json("count", "t")[0]["rows"], len(ROWS))


if __name__ == "__main__":
    main()

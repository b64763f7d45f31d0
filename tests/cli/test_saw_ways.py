"""The same Sawzall program over a file, over a table split into seven tablets,
and as a job over either, prints the same: for every kind of table."""

import json
import os
import random
import re
import unittest

from harness import CliTest, main

KINDS = """
collection mrcounter text sum maximum minimum top quantile set unique sample
weightedsample distinctsample inversehistogram bootstrapsum recordio
""".split()

READ = r"""
f: array of string = matchstrs(`^([a-z]+) ([0-9]+) ([0-9.]+)$`, string(input));
word := f[1];
n: int = int(f[2], 10);
x: float = float(f[3]);
"""

# Each kind plain; what the kinds take as elements, weights and indices; results
# that are exact, and ones past the size to which they are.
PLAIN = READ + r"""
a1: table sum of int;                       emit a1 <- n;
a2: table collection of string;             emit a2 <- word;
a3: table maximum(5) of string weight int;  emit a3 <- word weight n;
a4: table minimum(5) of string weight float; emit a4 <- word weight x;
a5: table top(5) of string weight int;      emit a5 <- word weight n;
a6: table quantile(11) of int;              emit a6 <- n;
a7: table set(100) of string;               emit a7 <- word;
a8: table unique(5000) of string;           emit a8 <- word + f[2];
a9: table sample(9) of string;              emit a9 <- word;
b1: table weightedsample(9) of string weight int; emit b1 <- word weight n;
b2: table distinctsample(9) of string weight int; emit b2 <- word weight 1;
b3: table inversehistogram(9) of string weight int; emit b3 <- word weight 1;
b4: table bootstrapsum(4) of int weight fingerprint;
emit b4 <- n weight fingerprintof(input);
b5: table mrcounter of int;                 emit b5 <- 2;
b6: table text of string;                   emit b6 <- word;
b7: table recordio(9) of bytes;             emit b7 <- bytes(word);
"""

INDEXED = READ + r"""
b := n % 3 == 0;
l := len(word);
a1: table sum[w: string][b: bool] of {int, float}; emit a1[word][b] <- {n, 1.0};
a2: table collection[int] of {w: string, n: int};  emit a2[l] <- {word, n};
a3: table maximum(2)[int] of {string, int} weight w: float;
emit a3[l] <- {word, n} weight x;
a4: table minimum(2)[bytes] of array of int weight string;
emit a4[bytes(word)] <- {n, l} weight word;
a5: table top(2)[b: bool] of string weight float;  emit a5[b] <- word weight x;
a6: table quantile(3)[string] of float;            emit a6[word] <- x;
a7: table set(2)[string] of int;                   emit a7[word] <- n % 2;
a8: table unique(1000)[w: int] of {string, int};   emit a8[l] <- {word, n};
a9: table sample(2)[float] of {string, int};       emit a9[float(l)] <- {word, n};
b1: table weightedsample(2)[int] of int weight float;
emit b1[l] <- n weight x + 1.0;
b2: table distinctsample(2)[int] of int weight float;
emit b2[l] <- n % 7 weight x;
b3: table inversehistogram(3)[bool] of int weight int;
emit b3[b] <- n % 50 weight 1;
b4: table bootstrapsum(2)[time] of float weight fingerprint;
emit b4[time(l)] <- float(n) weight fingerprintof(word);
b5: table sum of map[string] of int;               emit b5 <- {word: n};
"""

# Past the sizes up to which results are exact, or nothing is left.
LARGE = READ + r"""
a5: table top(3) of string weight int;      emit a5 <- f[2] weight 1;
a7: table set(3) of string;                 emit a7 <- word;
a8: table unique(20) of string;             emit a8 <- f[2];
b2: table distinctsample(3) of string weight int; emit b2 <- f[2] weight n;
b3: table inversehistogram(3) of string weight int; emit b3 <- f[2] weight 1;
"""

PRINTING = READ + r"""
t: table sum of int;
if (n < 20) {
  emit stdout <- format("%s has %d", word, n);
  emit output <- bytes(word + "\n");
}
shown: table collection of w: string format("<%s>", w);
emit t <- n;
emit shown <- word;
"""

CHANCE = READ + r"""
total: table sum of float;
under: table sum of int;
emit total <- rand();
if (nrand(10) < 3) emit under <- 1;
"""


class Ways(CliTest):
    def setUp(self):
        super().setUp()
        self.lines()
        self.store()

    def lines(self):
        """Lines of words and numbers; a row's key is where its line begins."""
        r = random.Random(11)
        words = ["apple", "bear", "cat", "dog", "eagle", "fig", "goat"]
        text, rows, at = "", [], 0
        for _ in range(1200):
            line = "%s %d %s" % (r.choice(words), r.randrange(1000),
                                 r.choice(["0.5", "2", "3.25", "0.125"]))
            rows.append(("%020d" % at, line))
            at += len(line) + 1
            text += line + "\n"
        self.write("lines", text)
        self.write("rows", "".join(
            json.dumps({"key": k, "line": v}) + "\n" for k, v in rows))
        self.rows = rows

    def store(self):
        self.ok("import", "jsonl", "rows", "--into", "t")
        cuts = [self.rows[len(self.rows) * i // 7][0] for i in range(1, 7)]
        self.ok("table", "split", "t", *cuts)
        groups = self.json("table", "stats", "t")
        self.assertIn(7, [g["files"] for g in groups])

    def job(self, program, spec):
        self.ok("job", "run", program, "--overwrite", "--input", spec,
                "--output", "file:out")
        parts = sorted(p for p in os.listdir(self.path("out"))
                       if p.startswith("part-"))
        text = ""
        for part in parts:
            with open(os.path.join(self.path("out"), part)) as f:
                text += f.read()
        return text

    def same(self, program):
        """The text that all ways print."""
        self.write("p.szl", program)
        file = self.ok("saw", "p.szl", "lines", "--seed", "0")
        self.assertEqual(file, self.ok("saw", "p.szl", "--table", "t",
                                       "--column", "data:line", "--seed", "0"),
                         "a table differs")
        self.assertEqual(file, self.job("p.szl", "file:lines"),
                         "a job over the file differs")
        self.assertEqual(file, self.job("p.szl",
                                        "table:t?columns=data:line"),
                         "a job over the table differs")
        return file

    def declared(self, program):
        """Kind by name of each table that @program declares."""
        return dict(re.findall(r"^(\w+): table (\w+)", program, re.M))

    def test_every_kind(self):
        """No kind is forgotten, and each prints something."""
        text = self.same(PLAIN)
        names = self.declared(PLAIN)
        self.assertEqual(sorted(names.values()), sorted(KINDS))
        for name in names:
            self.assertRegex(text, r"(?m)^%s\[\] = " % name)

    def test_indexed(self):
        text = self.same(INDEXED)
        for name in self.declared(INDEXED):
            self.assertRegex(text, r"(?m)^%s\[" % name)

    def test_beyond_the_exact(self):
        text = self.same(LARGE)
        self.assertNotIn("a7", text)

    def test_what_is_printed(self):
        """Text comes before the tables, in the order of the records."""
        text = self.same(PRINTING)
        self.assertRegex(text, r"(?s)^\w+ has \d+\n\w+\n.*t\[\] = \d+\n"
                         r"shown\[\] = <\w+>\n")

    def test_chance(self):
        """rand() depends on the record and the seed, not on the worker."""
        text = self.same(CHANCE)
        under = int(re.search(r"under\[\] = (\d+)", text).group(1))
        self.assertTrue(250 < under < 470, text)

    def test_printed_as_emitted(self):
        """Tables that are not listed print as they are emitted, in order, over
        a table too."""
        program = READ + ("t: table sum[string] of int; u: table sum of int; "
                          "emit t[word] <- n; emit u <- 1;")
        for tables in ("", "u"):
            file = self.ok("saw", "-e", program, "lines", "--table-output",
                           tables)
            self.assertEqual(file.count("emit t["), 1200)
            self.assertEqual(file.count("u[] = 1200\n"), 1 if tables else 0)
            self.assertEqual(file, self.ok(
                "saw", "-e", program, "--table", "t", "--column", "data:line",
                "--table-output", tables))

    def test_cells_are_chosen(self):
        """A program of bytes over a table says which values it means; each
        cell is a record."""
        program = "n: table sum of int; emit n <- 1;"
        self.assertIn("--column", self.fails(1, "saw", "-e", program,
                                             "--table", "t"))
        self.ok("put", "t", self.rows[0][0], "data:more=1")
        self.assertEqual(self.ok("saw", "-e", program, "--table", "t",
                                 "--family", "data"), "n[] = 2401\n")
        self.assertEqual(self.ok("saw", "-e", program, "--table", "t",
                                 "--column", "data:line"), "n[] = 1200\n")

    def test_limits_hold_over_tables(self):
        """Fuel and memory are those of the command, in every task."""
        loop = "i := 0; while (true) i++;"
        self.assertIn("instructions", self.fails(
            1, "saw", "-e", loop, "--table", "t", "--column", "data:line", "--fuel",
            "10000"))
        self.assertIn("memory", self.fails(
            1, "saw", "-e", "c: table collection of bytes; emit c <- input;",
            "--table", "t", "--column", "data:line", "--memory", "1KiB"))


if __name__ == "__main__":
    unittest.installHandler()
    main()

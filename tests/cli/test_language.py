"""The page about the language: every example in it is run, and every name the
compiler knows is in it.

An example is a block marked szl, with options of `quarry saw` behind the word.
Blocks directly behind it, with nothing but text between, belong to it: a
block marked input is what it reads, one marked output what it prints, one
marked error what its messages contain.
"""

import os
import re

from harness import CliTest, ROOT, main

PAGE = os.path.join(ROOT, "docs", "language.md")
BLOCK = re.compile(r"^```(\S+)(?: ([^\n]*))?\n(.*?)^```$", re.M | re.S)


def examples(text):
    """Of each example: line, options, and the blocks by their mark."""
    found = []
    for block in BLOCK.finditer(text):
        mark, options, body = block.groups()
        if mark == "szl":
            line = text.count("\n", 0, block.start()) + 1
            found.append((line, (options or "").split(), {"szl": body}))
        elif mark in ("input", "output", "error"):
            assert mark not in found[-1][2], "a second %s behind line %d" % (
                mark, found[-1][0])
            found[-1][2][mark] = body
    return found


class Language(CliTest):
    def setUp(self):
        super().setUp()
        with open(PAGE) as f:
            self.page = f.read()

    def test_examples(self):
        """Every example prints what the page says."""
        found = examples(self.page)
        self.assertGreater(len(found), 20)
        for line, options, blocks in found:
            with self.subTest(line=line):
                self.run_example(options, blocks)

    def run_example(self, options, blocks):
        self.write("p.szl", blocks["szl"])
        files = []
        if "input" in blocks:
            files = [self.write("in", blocks["input"])]
        done = self.run_quarry("saw", *options, "p.szl", *files)
        errors = done.stderr.decode()
        self.assertEqual(done.stdout.decode(), blocks.get("output", ""),
                         errors)
        if "error" not in blocks:
            self.assertEqual((done.returncode, errors), (0, ""))
            return
        self.assertEqual(done.returncode, 1)
        for want in blocks["error"].splitlines():
            self.assertIn(want, errors)

    def test_layout(self):
        """The examples are laid out in the usual way."""
        for line, _, blocks in examples(self.page):
            with self.subTest(line=line):
                done = self.run_quarry("saw", "fmt", "-", stdin=blocks["szl"])
                self.assertEqual(done.stdout.decode(), blocks["szl"])

    def test_names(self):
        """Every predeclared name is in the page."""
        code = set(re.findall(r"\w+", " ".join(
            re.findall(r"`[^`\n]+`", self.page))))
        names = re.findall(r"^(\w+): ", self.ok("saw", "explain"), re.M)
        self.assertGreater(len(names), 120)
        self.assertEqual([n for n in names if n not in code], [])

    def test_table_kinds(self):
        """Every kind of table that the compiler names is in the page."""
        message = self.run_quarry(
            "saw", "-e", "t: table nosuch of int;").stderr.decode()
        kinds = re.search(r"the kinds are (.*)", message).group(1).split(", ")
        self.assertEqual(len(kinds), 16)
        for kind in kinds:
            self.assertIn("`%s" % kind, self.page)


if __name__ == "__main__":
    main()

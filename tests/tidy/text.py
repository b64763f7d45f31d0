"""Lines of 80 columns, no stray blanks, no long chains of conditional
expressions, and no words that only speak of work that was not done or of the
machine it was done on."""

import re
import unicodedata

import tree

COLUMNS_MAX = 80
WORDS = [
    (r"\bTODO\b(?!\(\w+\): \S)", "a TODO says who and under which condition"),
    (r"\b(FIXME|XXX|HACK)\b", "mend it, or say why it must be so"),
    (r"\b(simplified|for now|stubbed|placeholder)\b",
     "do it, or say what is true"),
    (r"(?<![\w.])/(work|root|home)/", "a path of one machine"),
]
# The list above must name what it looks for.
SELF = "tests/tidy/text.py"


# "a ? x : b ? y : z" still reads as one sentence; a third condition is an if.
LINK = re.compile(r"\s*: .* \?( |$)")


def find_chains(path, text, found):
    before = False
    for number, line in enumerate(text.split("\n"), 1):
        link = bool(LINK.match(line))
        if link and before:
            found.add(path, number, "a chain of conditional expressions: use "
                      "if, or a function")
        before = link


def width(line):
    if line.isascii():
        return len(line)
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def main():
    found = tree.Findings()
    for path in tree.files(".c", ".h", ".cc", ".md", ".txt", ".cmake", ".py",
                           ".sh", ".json", ".szl", "deps", "build", "demo",
                           "test", "bench", "fuzz", "run"):
        text = tree.read(path)
        data = "/data/" in path or "/corpus/" in path
        if data:
            continue
        if text and not text.endswith("\n"):
            found.add(path, text.count("\n") + 1, "no line feed at the end")
        if path.endswith((".c", ".h", ".cc")):
            find_chains(path, text, found)
        words = [] if path == SELF else [
            word for word in WORDS if re.search(word[0], text)]
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"[ \t\r]$", line) and not path.endswith(".md"):
                found.add(path, number, "blanks at the end of the line")
            if path.endswith((".c", ".h", ".cc")):
                if "\t" in line:
                    found.add(path, number, "a tab")
                if width(line) > COLUMNS_MAX:
                    found.add(path, number, "%d columns" % width(line))
            for pattern, why in words:
                match = re.search(pattern, line)
                if match:
                    found.add(path, number, "'%s': %s" % (match.group(0), why))
    found.finish()


main()

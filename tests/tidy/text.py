"""Lines of 80 columns, no stray blanks, and no words that only speak of work
that was not done or of the machine it was done on."""

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


def width(line):
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
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"[ \t\r]$", line) and not path.endswith(".md"):
                found.add(path, number, "blanks at the end of the line")
            if path.endswith((".c", ".h", ".cc")):
                if "\t" in line:
                    found.add(path, number, "a tab")
                if width(line) > COLUMNS_MAX:
                    found.add(path, number, "%d columns" % width(line))
            for pattern, why in WORDS if path != SELF else []:
                match = re.search(pattern, line)
                if match:
                    found.add(path, number, "'%s': %s" % (match.group(0), why))
    found.finish()


main()

"""The journeys of docs/architecture.md name functions that are where they say:
each row of a table that ends with a link to a file and a function."""

import os
import re

import tree

DOCUMENT = "docs/architecture.md"
ROW = re.compile(r"\| \[[^\]]+\]\(([^)]+)\) \| `(\w+)` \|$")
# Of all journeys together: a table that lost its form would be passed by.
ROWS_MIN = 60


def main():
    found = tree.Findings()
    rows = 0
    for number, line in enumerate(tree.read(DOCUMENT).split("\n"), 1):
        match = ROW.search(line)
        if not match:
            continue
        rows += 1
        path = os.path.normpath(os.path.join("docs", match.group(1)))
        name = match.group(2)
        if not os.path.isfile(os.path.join(tree.ROOT, path)):
            found.add(DOCUMENT, number, "no such file: " + path)
        elif not re.search(r"^(?:[A-Za-z_][^;\n=]*[ *])?%s\(" % name,
                           tree.code_of(tree.read(path)), re.M):
            found.add(DOCUMENT, number, "%s has no %s()" % (path, name))
    if rows < ROWS_MIN:
        found.add(DOCUMENT, 1, "%d stages of journeys, at least %d were there" %
                  (rows, ROWS_MIN))
    found.finish()


main()

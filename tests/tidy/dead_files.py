"""Every .c file is compiled by the build in the directory given: what no target
takes up only looks as if it were part of the project."""

import json
import os
import sys

import tree


def main():
    found = tree.Findings()
    with open(os.path.join(sys.argv[1], "compile_commands.json"),
              encoding="utf-8") as f:
        compiled = {os.path.realpath(os.path.join(c["directory"], c["file"]))
                    for c in json.load(f)}
    for path in tree.sources(".c", ".cc"):
        # Benchmarks are built on demand, with libraries nobody else needs, and
        # what uses the installed library is built outside the tree.
        if path.startswith(("tests/bench/", "tests/install/", "examples/")):
            continue
        if os.path.realpath(os.path.join(tree.ROOT, path)) not in compiled:
            found.add(path, 1, "no target compiles it")
    found.finish()


main()

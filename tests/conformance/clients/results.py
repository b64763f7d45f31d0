"""Results of clients' suites, from JUnit XML to a line and to the docs.

    results.py add RESULTS FAILURES SUITE SERVER VERSION XML…
    results.py table RESULTS PAGE
    results.py go OUTPUT XML        `go test -v` as JUnit XML

`add` prints the line, and each failed test with whose fault it is, as FAILURES
(suite, pattern of the test's name, whose, why; by tabs) says; it exits with 1 if
that does not say it, or no test passed. `table` writes the newest line of each
suite and server between two marks of PAGE, and leaves the lines of suites that
were not run here.
"""

import datetime
import os
import re
import sys
import xml.etree.ElementTree as etree

BEGIN = "<!-- clients: written by tests/conformance/clients/run table -->"
END = "<!-- clients end -->"
HEAD = ["| suite | of | server | passed | failed | skipped | on |",
        "|---|---|---|---|---|---|---|"]


def cases(paths):
    """Name and outcome of every test in the files."""
    for path in paths:
        if not os.path.exists(path):
            continue
        for case in etree.parse(path).getroot().iter("testcase"):
            name = "%s %s" % (case.get("classname", ""), case.get("name", ""))
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                yield name, "failed"
            elif "skipped" in kinds:
                yield name, "skipped"
            else:
                yield name, "passed"


def reasons(path, suite):
    with open(path, encoding="utf-8") as f:
        for line in f:
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 4 and fields[0] == suite:
                yield re.compile(fields[1]), "%s: %s" % (fields[2], fields[3])


def add(results, failures, suite, server, version, *paths):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    unexplained = 0
    known = list(reasons(failures, suite))
    for name, outcome in cases(paths):
        counts[outcome] += 1
        if outcome != "failed":
            continue
        why = next((w for pattern, w in known if pattern.search(name)), None)
        unexplained += why is None
        print("    failed: %s: %s" % (name, why or "NOT EXPLAINED"))
    line = [suite, version, server, *map(str, counts.values()),
            datetime.date.today().isoformat()]
    with open(results, "a", encoding="utf-8") as f:
        print("\t".join(line), file=f)
    print("%s × %s: %d passed, %d failed, %d skipped" %
          (suite, server, *counts.values()))
    return 1 if unexplained or counts["passed"] == 0 else 0


def rows_of(lines):
    return [[cell.strip() for cell in line.strip("|\n ").split("|")]
            for line in lines if line.startswith("| ")]


def table(results, page):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    rows = {(r[0], r[2]): r for r in rows_of(
        text[begin:end].splitlines())[1:]}
    with open(results, encoding="utf-8") as f:
        for line in f:
            r = line.rstrip("\n").split("\t")
            rows[(r[0], r[2])] = r
    lines = HEAD + ["| %s |" % " | ".join(rows[key]) for key in sorted(rows)]
    with open(page, "w", encoding="utf-8") as f:
        f.write(text[:begin] + "\n\n" + "\n".join(lines) + "\n\n" + text[end:])
    return 0


def go(output, xml):
    """Tests themselves; parts of a test are not counted."""
    suite = etree.Element("testsuite")
    tags = {"FAIL": "failure", "SKIP": "skipped"}
    with open(output, encoding="utf-8", errors="replace") as f:
        for line in f:
            found = re.match(r"--- (PASS|FAIL|SKIP): (\S+)", line)
            if found:
                case = etree.SubElement(suite, "testcase", name=found.group(2))
                if found.group(1) in tags:
                    etree.SubElement(case, tags[found.group(1)])
    etree.ElementTree(suite).write(xml)
    return 0


if __name__ == "__main__":
    sys.exit({"add": add, "table": table, "go": go}[sys.argv[1]](
        *sys.argv[2:]))

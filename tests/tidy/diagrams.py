"""The state diagrams of docs/protocols.md have the states of the enums they
draw, all of them and no others, and its crash points name tests that exist."""

import os
import re

import tree

DOCUMENT = "docs/protocols.md"
DIAGRAM = re.compile(r"<!-- diagram of enum (\w+) in (\S+) -->\n"
                     r"```mermaid\nstateDiagram-v2\n(.*?)```", re.S)
ARROW = re.compile(r"^\s*(\[\*\]|\w+) --> (\[\*\]|\w+)(?:: .+)?$")
TEST = re.compile(r"\[[^\]]+\]\(([^)]+)\) `(test_\w+)`")
# Members that count the others are no states.
COUNT = re.compile(r"_(LEVELS|COUNT|MAX)$")


def states_of(header, enum):
    text = tree.code_of(tree.read(header))
    match = re.search(r"\benum %s \{(.*?)\}" % enum, text, re.S)
    if not match:
        return None
    names = re.findall(r"(?:^|,)\s*(\w+)", match.group(1))
    return {n for n in names if not COUNT.search(n)}


def check_diagram(found, line, enum, header, body):
    drawn = set()
    for offset, text in enumerate(body.rstrip("\n").split("\n")):
        match = ARROW.match(text)
        if not match:
            found.add(DOCUMENT, line + 3 + offset, "not 'A --> B: why'")
            continue
        drawn.update(n for n in match.groups() if n != "[*]")
    if not os.path.isfile(os.path.join(tree.ROOT, header)):
        found.add(DOCUMENT, line, "no such file: " + header)
        return
    states = states_of(header, enum)
    if states is None:
        found.add(DOCUMENT, line, "%s has no enum %s" % (header, enum))
        return
    for name in sorted(drawn - states):
        found.add(DOCUMENT, line, "%s is no member of enum %s" % (name, enum))
    for name in sorted(states - drawn):
        found.add(DOCUMENT, line, "%s of enum %s is not drawn" % (name, enum))


def main():
    found = tree.Findings()
    text = tree.read(DOCUMENT)
    diagrams = list(DIAGRAM.finditer(text))
    for match in diagrams:
        check_diagram(found, text[:match.start()].count("\n") + 1,
                      match.group(1), match.group(2), match.group(3))
    if len(diagrams) != text.count("```mermaid"):
        found.add(DOCUMENT, 1, "a diagram does not say which enum it draws")
    tests = list(TEST.finditer(text))
    for match in tests:
        line = text[:match.start()].count("\n") + 1
        path = os.path.normpath(os.path.join("docs", match.group(1)))
        full = os.path.join(tree.ROOT, path)
        if not os.path.isfile(full):
            continue  # docs.py says so.
        if not re.search(r"^START_TEST\(%s\)" % match.group(2),
                         tree.read(path), re.M):
            found.add(DOCUMENT, line, "%s has no %s" % (path, match.group(2)))
    if not diagrams or not tests:
        found.add(DOCUMENT, 1, "no diagrams, or no crash points")
    found.finish()


main()

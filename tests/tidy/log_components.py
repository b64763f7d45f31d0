"""Each line of the log names a component of base/runtime/log_components.def, each of which has a
line of level DEBUG somewhere, and docs/operating.md lists them all."""

import re

import tree

DEF = "base/runtime/log_components.def"
DOCS = "docs/operating.md"


def main():
    found = tree.Findings()
    listed = re.findall(r'LOG_COMPONENT\("([a-z-]+)", "([^"]+)"\)', tree.read(DEF))
    names = [name for name, _ in listed]
    if names != sorted(set(names)):
        found.add(DEF, 1, "not in the order of the alphabet")
    debug = set()
    for path in tree.sources(".c"):
        text = tree.read(path)
        if path.startswith("tests/") or path == "base/runtime/log.c":
            continue
        for match in re.finditer(r'\blog_(debug|info|warn|error)\(([^;"]{1,200}?),'
                                 r'\s*"([^"]*)",', text):
            line = text[:match.start()].count("\n") + 1
            if match.group(3) not in names:
                found.add(path, line, "there is no component " + match.group(3))
            if match.group(1) == "debug":
                debug.add(match.group(3))
    for name in sorted(set(names) - debug):
        found.add(DEF, 1, "no line of level DEBUG: " + name)
    docs = tree.read(DOCS)
    for name, about in listed:
        if "| `%s` | %s |" % (name, about) not in docs:
            found.add(DOCS, 1, "no line `| `%s` | %s |` in its table" % (name, about))
    found.finish()


main()

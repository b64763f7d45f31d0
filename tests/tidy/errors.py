"""The text of an error is for people: nothing in the product compares it or
looks into it. A program branches on the code, and on the detail of
base/core/err.h."""

import re

import tree

# Places that may, and why.
ALLOWED = {
    "cli/cmd_job_run.c": "says nothing twice",
}

LOOKS = re.compile(r"\b(str(?!len|dup|error|ndup)\w+|mem(cmp|mem|chr)|sscanf|"
                   r"slice_(eq|cmp|starts_with|find|chr)\w*|fnmatch|regex_\w+)"
                   r"\s*\(")
DECLARED = re.compile(r"\bstruct err (?:\*\s*(?:const )?)?(\w+)")


def arguments(text, begin):
    """The text between the parenthesis at @begin and its partner."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[begin:at]
    return text[begin:]


def main():
    found = tree.Findings()
    used = set()
    for path in tree.sources(".c", ".h", ".cc"):
        if path.startswith(("tests/", "examples/", "base/core/err.")):
            continue
        text = tree.code_of(tree.read(path))
        names = set(DECLARED.findall(text)) | {"err"}
        said = re.compile(r"\b(?:%s)(?:->|\.)(?:text|hint)\b" %
                          "|".join(sorted(names)))
        for call in LOOKS.finditer(text):
            if not said.search(arguments(text, call.end() - 1)):
                continue
            used.add(path)
            if path not in ALLOWED:
                found.add(path, text.count("\n", 0, call.start()) + 1,
                          "%s() looks into the text of an error" %
                          call.group(1))
    for path in sorted(set(ALLOWED) - used):
        found.add("tests/tidy/errors.py", 1, path + ": allowed in vain")
    found.finish()


main()

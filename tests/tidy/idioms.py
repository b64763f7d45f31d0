"""Habits of the code that neither the compiler nor clang-format knows: static
functions have two words, a macro that evaluates an argument twice gets none
with an effect, a dropped result is IGNORE_RESULT, a prologue says why."""

import re

import tree

# Product code; a test is found by its name, and an example is for newcomers.
EXEMPT = ("tests/", "examples/")
STATIC = re.compile(
    r"^static[^;{}()#=]*?\b([a-z][a-z0-9]*)\([^;{}]*\)\s*\n\{", re.M)
# Names of one word that are the field's.
WORDS = {"crc32c", "hmac"}
TWICE = re.compile(r"\b(MIN_OF|MAX_OF)\(")
EFFECT = re.compile(r"\+\+|--|(?<![=!<>+\-*/|&^])=(?!=)")
# if (f()) { /* why it does not matter */ }
EMPTY = re.compile(
    r"^[ \t]*if \((?:(?!\b(?:while|for)\b)[^;{}])*?\) \{\n\s*\}\n(?![ \t]*else)",
    re.M)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def argument_end(code, at):
    depth = 1
    while depth and at < len(code):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        at += 1
    return at - 1


def check_code(found, path, code):
    for match in STATIC.finditer(code):
        if match.group(1) not in WORDS:
            found.add(path, line_of(code, match.start(1)),
                      "%s(): a static function has two words" % match.group(1))
    for match in TWICE.finditer(code):
        if EFFECT.search(code[match.end():argument_end(code, match.end())]):
            found.add(path, line_of(code, match.start()),
                      "%s evaluates its arguments twice" % match.group(1))
    for match in EMPTY.finditer(code):
        found.add(path, line_of(code, match.start()),
                  "a branch without code: IGNORE_RESULT()")


def check_prologue(found, path, text):
    match = re.match(r"\s*/\*.*?\*/", text, re.S)
    if match and "\n" not in match.group(0).strip():
        found.add(path, 1, "a prologue of one line: say why it is so")


def main():
    found = tree.Findings()
    for path in tree.sources(".c", ".h"):
        if path.startswith(EXEMPT):
            continue
        text = tree.read(path)
        check_code(found, path, tree.code_of(text))
        if path.endswith(".c"):
            check_prologue(found, path, text)
    found.finish()


main()

"""Everything that the documentation points at exists: files behind its links, commands in
its examples."""

import os
import re

import tree


# So that a page stays what it is for.
LINES_MAX = {"docs/performance.md": 200}


def commands():
    names = set()
    for path in tree.sources(".c"):
        if path.startswith("cli/"):
            names.update(re.findall(r'\{\.name = "([a-z -]+)"',
                                    tree.read(path)))
    return names


def check_links(found, path, text):
    for match in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        target = match.group(1)
        if re.match(r"[a-z]+:", target):
            continue
        at = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if not os.path.exists(os.path.join(tree.ROOT, at)):
            found.add(path, text[:match.start()].count("\n") + 1,
                      "no such file: " + target)


def check_command(found, path, number, line, names):
    for match in re.finditer(
            r"(?:^|[\s;|(])(?:\./)?(?:build/\w+/)?quarry((?: (?:-t|--target) \S+| "
            r"-q)*)((?: [a-z-]+)+)", line):
        words = match.group(2).split()
        if words[0] in ("is", "and", "in"):
            continue
        if not (words[0] in names or " ".join(words[:2]) in names or
                (len(words) == 1 and
                 any(n.startswith(words[0] + " ") for n in names))):
            found.add(path, number, "no command: quarry " + " ".join(words[:2]))
    for name in re.findall(r"(?:^|\s)(?:\./)?(scripts/[a-z-]+)", line):
        if not os.path.exists(os.path.join(tree.ROOT, name)):
            found.add(path, number, "no such script: " + name)


def check_examples(found, path, text, names):
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside = not inside and line[3:].strip() in ("", "sh", "console")
            continue
        if inside:
            check_command(found, path, number, line, names)
        for code in re.findall(r"`([^`]+)`", line):
            check_command(found, path, number, code, names)


def main():
    found = tree.Findings()
    names = commands()
    for path in tree.files(".md"):
        text = tree.read(path)
        check_links(found, path, text)
        if text.count("\n") > LINES_MAX.get(path, text.count("\n")):
            found.add(path, 0, "%d lines; at most %d"
                      % (text.count("\n"), LINES_MAX[path]))
        check_examples(found, path, text, names)
    found.finish()


main()

"""The frame of the tidy tests: the files of the tree, code without comments, and
the way a test ends."""

import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SOURCE_DIRS = ("base", "chubby-lite", "gfs-lite", "bigtable", "sawzall-lite",
               "mapreduce", "jobs", "web", "cli", "bindings", "tests", "examples")


def files(*suffixes):
    """Paths from the root of all files that are in the repository, or would be
    with the next commit."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if listed.returncode == 0:
        found = listed.stdout.splitlines()
    else:  # An unpacked archive has no git.
        found = [os.path.relpath(os.path.join(base, name), ROOT)
                 for base, dirs, names in os.walk(ROOT)
                 for name in names
                 if "/build" not in base and "/.git" not in base]
    return sorted(path for path in set(found)
                  if path.endswith(suffixes) and
                  os.path.isfile(os.path.join(ROOT, path)))


def sources(*suffixes):
    """The same for code: below the top-level directories of the project."""
    return [path for path in files(*suffixes)
            if path.split("/")[0] in SOURCE_DIRS]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                   re.S)


def code_of(text):
    """@text with comments and the insides of literals blanked; line numbers
    stay."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] + token[0]
        return re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, text)


class Findings:
    def __init__(self):
        self.lines = []

    def add(self, path, line, text):
        self.lines.append("%s:%d: %s" % (path, line, text))

    def finish(self):
        """Print what was found and end the process accordingly."""
        for line in self.lines:
            print(line)
        print("%d findings" % len(self.lines))
        sys.exit(1 if self.lines else 0)

"""The figures of the review table in HACKING.md, for each component:

    python3 tests/tidy/review.py [FOLDER...]

As a test (--check) it holds the limits that are set below.
"""

import os
import re
import sys

import tree

COMPONENTS = [
    "base/core", "base/runtime", "base/sim", "base/rpc", "base/crypt",
    "base/http", "base/replica", "base/session", "chubby-lite",
    "gfs-lite/namenode", "gfs-lite/chunkserver", "gfs-lite",
    "bigtable/row", "bigtable/index", "bigtable/sstable", "bigtable/lsm",
    "bigtable/log",
    "bigtable/tablet", "bigtable/write", "bigtable/read", "bigtable/store",
    "bigtable/wire",
    "bigtable/tablet_server", "bigtable/master", "bigtable/client",
    "bigtable/gateway", "sawzall-lite", "mapreduce", "jobs", "cli",
]

# Where state is kept, asserts are dense.
STATEFUL = {
    "base/replica", "base/session", "chubby-lite", "gfs-lite/namenode",
    "gfs-lite/chunkserver", "bigtable/index", "bigtable/sstable",
    "bigtable/lsm", "bigtable/log",
    "bigtable/tablet", "bigtable/write", "bigtable/read", "bigtable/store",
    "bigtable/tablet_server", "bigtable/master",
}
ASSERTS_MIN = 0.5
# Of these more, so that they stay so.
ASSERTS_MIN_OF = {
    "base/replica": 0.97, "base/session": 0.95, "bigtable/lsm": 0.95,
    "bigtable/write": 1.0, "bigtable/store": 0.9, "bigtable/index": 0.8,
    "bigtable/sstable": 0.9, "bigtable/log": 0.82, "bigtable/read": 0.77,
    "bigtable/tablet": 0.7, "gfs-lite/chunkserver": 0.62,
    "gfs-lite/namenode": 0.55, "bigtable/tablet_server": 0.55,
    "bigtable/master": 0.55,
}
# And one for each function that may change a struct with numbered invariants.
KEEPER_ASSERTS_MIN_OF = {
    "base/replica": 1.0, "base/session": 1.0, "chubby-lite": 1.0,
    "gfs-lite/namenode": 1.0, "gfs-lite/chunkserver": 1.0,
    "bigtable/sstable": 0.9, "bigtable/log": 1.0, "bigtable/tablet": 1.0,
    "bigtable/write": 1.0, "bigtable/read": 1.0, "bigtable/store": 1.0,
    "bigtable/tablet_server": 1.0, "bigtable/master": 1.0,
}
# Elsewhere some; of MapReduce in each room.
ASSERTED = {
    "bigtable/row", "bigtable/client", "bigtable/gateway", "cli",
    "mapreduce/attempt", "mapreduce/cluster", "mapreduce/engines",
    "mapreduce/ingest", "mapreduce/input", "mapreduce/master",
    "mapreduce/output", "mapreduce/records", "mapreduce/sandbox",
    "mapreduce/shuffle", "mapreduce/task", "mapreduce/warc",
}
ASSERTED_MIN = 0.1
DOCUMENTED_MIN = 0.9

FUNCTION = re.compile(r"\)\s*\n\{", re.M)
# A function with its head and body, in code without comments.
WHOLE = re.compile(r"^(?!\s)([^;{}#\n][^;{}#]*\))\s*\n\{\n(.*?)^\}", re.M | re.S)
POINTER = re.compile(r"(const\s+)?struct (\w+) \*(?!\*)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
ASSERT = re.compile(r"\b(?:PRE|POST|INVARIANT|ASSERT_SLOW)\(")
PROTOTYPE = re.compile(
    r"^(?!typedef|static|enum|#|extern|\s|[/}*])"
    r"[A-Za-z_][\w \t*\n(),.\[\]]*?\b(\w+)\((?:[^;{}]|\n)*?\);", re.M)


def kept_structs(names):
    """{struct: component} of the structs with numbered invariants: the one with
    the name of the file, else the one that is defined next after them, else the
    one that most functions of the header take."""
    kept = {}
    for path in tree.sources(".c", ".h"):
        component = component_of(path, names)
        if not component:
            continue
        text = tree.read(path)
        for comment in COMMENT.finditer(text):
            if "INV-1." not in comment.group(0):
                continue
            after = text[comment.end():]
            noun = os.path.basename(path).rsplit(".", 1)[0]
            if re.search(r"^struct %s( \{|;)" % noun, text, re.M):
                kept[noun] = component
                continue
            defined = re.search(r"^struct (\w+) \{", after, re.M)
            taken = re.findall(r"\((?:const )?struct (\w+) \*", after)
            if defined:
                kept[defined.group(1)] = component
            elif taken:
                kept[max(set(taken), key=taken.count)] = component
    return kept


def prologue_lines(text):
    match = re.match(r"\s*/\*.*?\*/", text, re.S)
    return match.group(0).strip().count("\n") + 1 if match else 0


def comment_lines(text):
    return sum(match.group(0).count("\n") + 1
               for match in tree.TOKEN.finditer(text)
               if match.group(0).startswith("/"))


def prototypes(text):
    """(name, is documented): a comment right above, on its last line, or at the
    head of a paragraph of its kind."""
    blanked = tree.TOKEN.sub(
        lambda token: re.sub(r"[^\n]", " ", token.group(0)), text)
    for match in PROTOTYPE.finditer(blanked):
        before = text[:match.start()]
        paragraph = re.split(r"\n[ \t]*\n", before)[-1]
        rest = text[match.end():].split("\n", 1)[0]
        # MUST_CHECK and the like may stand on a line of their own.
        yield match.group(1), "/*" in paragraph or "/*" in rest


class Figures:
    def __init__(self):
        self.files = self.lines = self.comments = self.short = 0
        self.functions = self.asserts = 0
        # Of the functions that may change such a struct of their component.
        self.keepers = self.keeper_asserts = 0
        self.prototypes = self.documented = 0
        self.bare = []

    def add_keepers(self, code, structs):
        for head, body in WHOLE.findall(code):
            if any(not const and name in structs
                   for const, name in POINTER.findall(head)):
                self.keepers += 1
                self.keeper_asserts += len(ASSERT.findall(body))

    def add(self, path, structs=()):
        text = tree.read(path)
        if path.endswith(".h"):
            for name, documented in prototypes(text):
                self.prototypes += 1
                self.documented += documented
                if not documented:
                    self.bare.append("%s: %s()" % (path, name))
            return
        self.files += 1
        self.lines += text.count("\n")
        self.comments += comment_lines(text)
        self.short += prologue_lines(text) < 2
        code = tree.code_of(text)
        self.functions += len(FUNCTION.findall(code))
        self.asserts += len(ASSERT.findall(code))
        self.add_keepers(code, structs)

    def share(self, part, whole):
        return part / whole if whole else 0.0

    def text(self, name):
        return ("%-24s %4d .c, %3d with a prologue of one line, %4.1f %% comment,"
                " %5.2f asserts a function, %5.2f in the %3d that change"
                " a struct with invariants, %3.0f %% of %4d prototypes documented"
                % (name, self.files, self.short,
                   100 * self.share(self.comments, self.lines),
                   self.share(self.asserts, self.functions),
                   self.share(self.keeper_asserts, self.keepers), self.keepers,
                   100 * self.share(self.documented, self.prototypes),
                   self.prototypes))


def component_of(path, names):
    fitting = [name for name in names if path.startswith(name + "/")]
    return max(fitting, key=len) if fitting else None


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    wanted = [a.rstrip("/") for a in arguments if not a.startswith("-")]
    names = wanted or COMPONENTS
    figures = {name: Figures() for name in names}
    structs = kept_structs(names)
    for path in tree.sources(".c", ".h"):
        name = component_of(path, names)
        if name:
            figures[name].add(path, {struct for struct in structs
                                     if structs[struct] == name})
    rooms = {name: Figures() for name in ASSERTED}
    for path in tree.sources(".c"):
        room = component_of(path, rooms)
        if room:
            rooms[room].add(path)
    found = tree.Findings()
    for name, f in sorted(rooms.items()):
        asserts = f.share(f.asserts, f.functions)
        if asserts < ASSERTED_MIN:
            found.add(name, 0, "%.2f asserts a function; at least %.1f"
                      % (asserts, ASSERTED_MIN))
    for name, f in figures.items():
        if not f.files:
            continue
        print(f.text(name))
        if wanted:
            for bare in f.bare:
                print("    no comment: " + bare)
        asserts = f.share(f.asserts, f.functions)
        least = ASSERTS_MIN_OF.get(name, ASSERTS_MIN)
        if name in STATEFUL and asserts < least:
            found.add(name, 0, "%.2f asserts a function; at least %.2f"
                      % (asserts, least))
        kept = f.share(f.keeper_asserts, f.keepers)
        least = KEEPER_ASSERTS_MIN_OF.get(name, 0)
        if kept < least:
            found.add(name, 0, "%.2f asserts a function that may change a struct "
                      "with invariants; at least %.2f" % (kept, least))
        if f.prototypes and f.share(f.documented, f.prototypes) < DOCUMENTED_MIN:
            found.add(name, 0, "%.0f %% of the prototypes have a comment; at "
                      "least %.0f %%" % (100 * f.documented / f.prototypes,
                                         100 * DOCUMENTED_MIN))
    if check:
        found.finish()


main()

"""Comments, documents and messages are free of the phrases that made this tree
hard to read: old words for known things, and clauses turned round.

    python3 tests/tidy/english.py [FOLDER...]
"""

import re
import sys

import tree

# Phrase -> what to say instead.
PHRASES = [
    (r"\banew\b", "again, or restart"),
    (r"\breigns?\b", "term"),
    (r"\bwhoever\b", "name who"),
    (r"\bwhomever\b", "name whom"),
    (r"\b(?:go|goes|went|going|gone) on\b", "continue"),
    (r"\b(?:lets?|letting) go (?:of|it|them)\b", "release"),
    (r"\b(?:pass|passes|passed|passing) over\b", "skip"),
    (r"\bfor so long\b", "say how long"),
    (r"\bso many\b", "say how many"),
    (r"\b(?:dear|dearer|dearest)\b", "expensive"),
    (r"\bothers, too\b", "too"),
    (r"\bdoors?\b", "public header, entry point"),
    (r"\b(?:another|newer|older|earlier|last|next|former|first) "
     r"(?:life|lives)\b", "run, or incarnation"),
    (r"\bstrangers?\b", "unauthenticated peer"),
    (r"\berrands?\b", "request, task"),
    (r"\btak(?:e|es|en|ing) care\b", "handle"),
    (r"\bis told of\b", "is notified of"),
    (r"\bhears? of\b", "learns, receives"),
    (r"\bthe like of\b", "such as"),
    (r"\bas (?:it|they) likes?\b", "say what is allowed"),
    (r"\bit is so\b|\bis so,", "say what holds"),
    (r"\bnot a (?:few|little)\b", "many"),
    (r"\bpack(?:ed|s|ing) (?:by|with) (?:gzip|zstd|lz4|bzip2|xz)\b",
     "compressed by"),
    (r"\btells? of\b", "report"),
    (r"\bone behind the other\b", "one after the other"),
    (r"\bof behind\b", "after, above"),
    (r"\bcomes? by\b", "say how"),
    (r"\bbefore and behind\b", "before and after"),
]

# A sentence whose subject is a free relative: "What a row holds is...".
RELATIVE = re.compile(r"(?:^|[.:] +)(What|Who|Whose|Wherever)\b(?![^.:]*\?)")

# The words are meant: a phrase in a quotation, a name.
SPARED = [
    ("docs/glossary.md", ""),
    ("tests/tidy/english.py", ""),
    ("tests/conformance/", ""),
]

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
                     r"|/\*.*?\*/|//[^\n]*", re.S)
HASH = re.compile(r'"""(.*?)"""|(?:^|\s)#\s[^\n]*', re.S)


def prose_of(path, text):
    """Pairs of (line, text) of what people read in @path."""
    if path.endswith(".md"):
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("```"):
                fenced = not fenced
            elif not fenced:
                yield number, re.sub(r"`[^`]*`", "", line)
        return
    pattern = COMMENT if path.endswith((".c", ".h", ".cc")) else HASH
    for match in pattern.finditer(text):
        part = match.group(0)
        if part.startswith("'") or (part.startswith('"') and
                                    not part.startswith('"""') and
                                    " " not in part):
            continue
        first = text[:match.start()].count("\n") + 1
        for number, line in enumerate(part.splitlines()):
            yield first + number, re.sub(r"^[\s/*#\"]+", "", line)


def main():
    found = tree.Findings()
    folders = tuple(sys.argv[1:])
    for path in tree.files(".c", ".h", ".cc", ".md", ".py", ".sh"):
        if folders and not path.startswith(folders):
            continue
        if any(path.startswith(spared) for spared, _ in SPARED):
            continue
        for number, line in prose_of(path, tree.read(path)):
            for phrase, better in PHRASES:
                match = re.search(phrase, line, re.I)
                if match:
                    found.add(path, number, "'%s': %s" % (match.group(0),
                                                          better))
            match = RELATIVE.search(line)
            if match:
                found.add(path, number, "a sentence begins with '%s': name "
                          "the thing" % match.group(1))
    found.finish()


main()

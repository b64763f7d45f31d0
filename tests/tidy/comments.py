"""Every file begins with what it is for, every header has its guard, and every
prototype in a public header has its comment."""

import re

import tree

PUBLIC = {
    "base/runtime/world.h", "base/runtime/sync.h", "base/regex/regex.h",
    "base/replica/replica.h",
    "gfs-lite/fs.h", "gfs-lite/gfs.h", "bigtable/quarry.h", "sawzall-lite/sawzall.h",
    "mapreduce/mapreduce.h", "mapreduce/job.h", "mapreduce/job_history.h",
    "mapreduce/ingest/ingest.h", "jobs/jobs.h",
}


def check_prologue(found, path, text):
    lines = [line for line in text.splitlines() if line.strip()]
    opening = ("/*", "//") if path.endswith(".cc") else "/*"
    if not lines or not lines[0].startswith(opening):
        found.add(path, 1, "no comment that says what the file is for")


def check_guard(found, path, text):
    want = re.sub(r"[^A-Z0-9]", "_", path.upper())
    match = re.search(r"^#ifndef (\w+)\n#define (\w+)", text, re.M)
    if not match or match.group(1) != match.group(2):
        found.add(path, 1, "no include guard")
    elif match.group(1) != want:
        found.add(path, 1, "the guard should be " + want)


PROTOTYPE = re.compile(
    r"^(?!typedef|static|struct \w+ \{|enum|#|extern|\s|[/}*])"
    r"[A-Za-z_][\w \t*\n(),.]*?\b(\w+)\((?:[^;{]|\n)*?\)[^;{()]*"
    r"(?:\(\d+, \d+\))?;", re.M)


def check_public_header(found, path, text):
    """A prototype is explained right above, in its paragraph, or by a comment
    that opens its section."""
    section_has_text = False
    for paragraph in re.split(r"\n\s*\n", text):
        line = text[:text.find(paragraph)].count("\n") + 1
        if re.match(r"\s*/\* --- ", paragraph):
            section_has_text = paragraph.count("/*") > 1
        has_comment = "/*" in paragraph
        if has_comment or section_has_text:
            continue
        match = PROTOTYPE.search(paragraph)
        if match:
            found.add(path, line, "%s() has no comment" % match.group(1))


def main():
    found = tree.Findings()
    for path in tree.sources(".c", ".h", ".cc"):
        text = tree.read(path)
        check_prologue(found, path, text)
        if path.endswith(".h"):
            check_guard(found, path, text)
        if path in PUBLIC:
            check_public_header(found, path, text)
    found.finish()


main()

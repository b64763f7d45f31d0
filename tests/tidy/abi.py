"""Programs and jobs that were built for the last release still run: no exported
function, layout of a public struct or value of a public constant is gone or
changed (packaging/abi/RELEASE.txt has them), unless the library has another
soname. Additions are allowed.

    abi.py [LIBQUARRY.SO PROGRAM]   compare; symbols of these two, too; and all
                                    files that say the version say the same
    abi.py --write RELEASE          write packaging/abi/RELEASE.txt of this tree
    abi.py --self-test              changes of each kind are found
"""

import json
import os
import re
import subprocess
import sys

import tree

CLANG = "clang-14"
REMEDY = ("keep it, and add what is new as a function or a struct of its own; "
          "or raise SOVERSION in cmake/install.cmake, so that programs are "
          "linked again, and say so in CHANGELOG.md")
# Of the C run-time, in every program.
RUN_TIME = re.compile(r"^(_|main$|data_start$|environ$|stdin|stdout|stderr|"
                      r"QUARRY_[0-9.]+$|program_invocation|opt(arg|ind|err)|"
                      r"sanitizer_|asan_|pthread_|interceptor_)")
OURS = re.compile(r"^(quarry_|mr_)")


def public_headers():
    """Those that are installed."""
    with open(os.path.join(tree.ROOT, "cmake/install.cmake")) as f:
        text = f.read()
    return re.search(r"foreach\(header\s+(.*?)\)", text, re.S).group(1).split()


def soname():
    with open(os.path.join(tree.ROOT, "cmake/install.cmake")) as f:
        said = re.search(r"SOVERSION (\S+?)\)", f.read()).group(1)
    with open(os.path.join(tree.ROOT, "CMakeLists.txt")) as f:
        major = re.search(r"project\(quarry VERSION (\d+)", f.read()).group(1)
    return "libquarry.so." + said.replace("${PROJECT_VERSION_MAJOR}", major)


def clang(source, *options):
    return subprocess.run(
        [CLANG, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-I", tree.ROOT,
         "-fsyntax-only", "-x", "c", *options, "-"],
        input=source, stdout=subprocess.PIPE, text=True, check=True).stdout


def constant(node):
    """The value of an enumerator's expression; None: it has none."""
    for inner in node.get("inner", []):
        if "value" in inner:
            return int(inner["value"])
        found = constant(inner)
        if found is not None:
            return found
    return None


def read_enum(node, out):
    value = -1
    for inner in node.get("inner", []):
        if inner["kind"] != "EnumConstantDecl":
            continue
        said = constant(inner)
        value = value + 1 if said is None else said
        out["value " + inner["name"]] = str(value)


def declarations(source, ours):
    """({item: what it is}, names of records) of the files that @ours takes."""
    top = json.loads(clang(source, "-Xclang", "-ast-dump=json"))
    out, records, file = {}, set(), ""
    for node in top["inner"]:
        loc = node.get("loc", {})
        loc = loc.get("expansionLoc", loc)
        file = loc.get("file", file)
        if not ours(file):
            continue
        kind = node["kind"]
        if kind == "FunctionDecl" and node.get("storageClass") != "static":
            name = node.get("mangledName", node["name"]).lstrip("\x01")
            if OURS.match(name):
                out["function " + name] = node["type"]["qualType"]
        elif kind == "RecordDecl" and "name" in node:
            records.add(node["name"])
        elif kind == "EnumDecl":
            read_enum(node, out)
    return out, records


def layouts(source, records, out):
    """Add where each field of @records is."""
    text = clang(source, "-Xclang", "-fdump-record-layouts-complete")
    for block in text.split("*** Dumping AST Record Layout\n")[1:]:
        lines = block.strip("\n").split("\n")
        head = re.match(r"\s*0 \| (struct|union) (\w+)$", lines[0])
        if not head or head.group(2) not in records:
            continue
        name = "%s %s" % head.groups()
        size = re.search(r"sizeof=(\d+), align=(\d+)", block)
        out[name] = "%s bytes, aligned to %s" % size.groups()
        for line in lines[1:]:
            # Fields of its own, not those of structs in it.
            field = re.match(r"\s*([\d:-]+) \|   (\S.*) (\w+)$", line)
            if field:
                place, kind, field_name = field.groups()
                kind = re.sub(r" at [^)]*", "", kind)
                out["%s.%s" % (name, field_name)] = "%s at %s" % (kind, place)


def interface(source=None, ours=None):
    source = source or "".join('#include "%s"\n' % h for h in public_headers())
    ours = ours or (lambda file: not os.path.isabs(file) or
                    file.startswith(tree.ROOT))
    out, records = declarations(source, ours)
    layouts(source, records, out)
    return out


def read(path):
    """{item: what it is} of a file."""
    with open(path) as f:
        return dict(line.rstrip("\n").split(": ", 1) for line in f
                    if not line.startswith("#"))


def compare(was, now):
    """[(item, why)] of what is gone or changed."""
    return [(item, "is gone" if item not in now else
             "was \"%s\" and is \"%s\"" % (value, now[item]))
            for item, value in sorted(was.items()) if now.get(item) != value]


def last_release():
    with open(os.path.join(tree.ROOT, "packaging/last-release")) as f:
        version = [x for x in f if not x.startswith("#")][0].split()[0]
    return os.path.join(tree.ROOT, "packaging/abi", version + ".txt")


def exported(path):
    text = subprocess.run(["nm", "-D", "--defined-only", path],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split()[-1] for line in text.splitlines()]


def check_symbols(found, library, program):
    """Nothing but ours is seen, and in the library with a version."""
    functions = {i.split()[1] for i in interface() if i.startswith("function")}
    for symbol in exported(library):
        name, _, version = symbol.partition("@@")
        if not OURS.match(name) and not RUN_TIME.match(name):
            found.add("cmake/libquarry.map", 1,
                      "libquarry.so exports %s: hide it" % name)
        elif OURS.match(name) and not version:
            found.add("cmake/libquarry.map", 1,
                      "libquarry.so exports %s without a version" % name)
    for symbol in exported(program):
        name = symbol.partition("@")[0]
        if not OURS.match(name) and not RUN_TIME.match(name):
            found.add("cli/CMakeLists.txt", 1,
                      "the program exports %s: hide it" % name)
    seen = {s.partition("@")[0] for p in (library, program)
            for s in exported(p)}
    for name in sorted(functions - seen):
        found.add("cmake/libquarry.map", 1,
                  "%s is declared in a public header, and nothing exports it" %
                  name)


# Files that say the version of the release, and how.
VERSIONS = {
    "cli/cli.h": r'QUARRY_VERSION "(.*)"',
    "cmake/libquarry.c": r'"(\d.*)"',
    "bindings/python/pyproject.toml": r'(?m)^version = "(.*)"',
    "bindings/python/quarry/__init__.py": r'__version__ = "(.*)"',
    "packaging/helm/quarry/Chart.yaml": r"(?m)^version: (.*)$",
}


def check_versions(found):
    with open(os.path.join(tree.ROOT, "CMakeLists.txt")) as f:
        version = re.search(r"project\(quarry VERSION (\S+)", f.read()).group(1)
    for path, how in VERSIONS.items():
        with open(os.path.join(tree.ROOT, path)) as f:
            said = re.search(how, f.read()).group(1)
        if said != version:
            found.add(path, 1, "says version %s; CMakeLists.txt says %s" % (
                said, version))


def check(paths):
    found = tree.Findings()
    check_versions(found)
    was, now = read(last_release()), interface()
    if was.pop("soname") == soname():
        for item, why in compare(was, now):
            found.add("packaging/abi", 1, "%s %s since the last release: %s" % (
                item, why, REMEDY))
    added = [i for i in now if i not in was and i.startswith("function")]
    if added:
        print("new since the last release: %s" % ", ".join(
            i.split()[1] for i in sorted(added)))
    if len(paths) == 2 and all(os.path.exists(p) for p in paths):
        check_symbols(found, *paths)
    found.finish()


def write(release):
    path = os.path.join(tree.ROOT, "packaging/abi", release + ".txt")
    with open(path, "w") as f:
        f.write("# The interface of release %s on x86-64, written by "
                "tests/tidy/abi.py --write.\nsoname: %s\n" % (
                    release, soname()))
        for item, value in sorted(interface().items()):
            f.write("%s: %s\n" % (item, value))


def self_test():
    before = "struct s { int a; char *b; struct { int c; } d; };\n" \
        "enum e { E_ONE = 1, E_TWO };\nint quarry_f(struct s *x, int n);\n" \
        "int quarry_g(void);\nstatic int quarry_h(void);\n"
    was = interface(before, lambda file: True)
    assert {"struct s", "struct s.b", "value E_TWO", "function quarry_f",
            "function quarry_g"} <= set(was), was
    assert "function quarry_h" not in was
    for change, item in [
            (("int a;", "long a;"), "struct s.a"),
            (("int a; char *b;", "char *b; int a;"), "struct s.b"),
            (("char *b;", "char *b; char *new;"), "struct s"),
            (("E_ONE = 1,", "E_ONE = 1, E_NEW,"), "value E_TWO"),
            (("int n", "long n"), "function quarry_f"),
            (("int quarry_g(void);", ""), "function quarry_g")]:
        now = interface(before.replace(*change), lambda file: True)
        assert item in [i for i, _ in compare(was, now)], (change, now)
    more = before + "int quarry_new(void);\nstruct t { int x; };\n"
    assert compare(was, interface(more, lambda file: True)) == []


def main():
    if subprocess.run(["which", CLANG], stdout=subprocess.DEVNULL,
                      check=False).returncode:
        print("SKIPPED: %s is not here (scripts/deps)" % CLANG)
        sys.exit(77)
    if os.uname().machine != "x86_64":
        print("SKIPPED: layouts are those of x86-64")
        sys.exit(77)
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2])
    elif sys.argv[1:2] == ["--self-test"]:
        self_test()
    else:
        self_test()
        check(sys.argv[1:])


main()

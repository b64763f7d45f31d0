"""Each header compiles alone: it includes what it uses. Public ones do in C++
as well."""

import concurrent.futures
import glob
import os
import re
import subprocess
import sysconfig

import tree

# The binding's headers include Python's.
PYTHON = sysconfig.get_paths()["include"]
# Those of SQL include DuckDB's, which scripts/deps sql fetches.
DUCKDB = sorted(glob.glob(os.path.join(
    os.environ.get("QUARRY_SQL_CACHE") or
    os.path.expanduser("~/.cache/quarry/duckdb"), "*", "duckdb.h")))
DUCKDB = os.path.dirname(DUCKDB[-1]) if DUCKDB else ""


def compile_header(path):
    run = subprocess.run(
        ["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-I", tree.ROOT,
         "-isystem", PYTHON, "-isystem", DUCKDB or PYTHON, "-Wall",
         "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"],
        input='#include "%s"\n#include "%s"\nextern int unused;\n' %
        (path, path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False)
    return path, run.returncode, run.stdout


def public_headers():
    """Those that are installed."""
    with open(os.path.join(tree.ROOT, "cmake/install.cmake")) as f:
        return re.search(r"foreach\(header\s+(.*?)\)", f.read(),
                         re.S).group(1).split()


def compile_in_cpp(path):
    run = subprocess.run(
        ["g++", "-std=c++11", "-I", tree.ROOT, "-Wall", "-Wextra", "-Wpedantic",
         "-Werror", "-fsyntax-only", "-x", "c++", "-"],
        input='#include "%s"\n#include "%s"\n' % (path, path),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    if run.returncode:
        return path, run.stdout
    # Its functions are those of C.
    names = subprocess.run(
        ["g++", "-E", "-std=c++11", "-I", tree.ROOT, "-x", "c++", path],
        stdout=subprocess.PIPE, text=True, check=True, cwd=tree.ROOT).stdout
    own, at, depth = [], "", 0
    for line in names.split("\n"):
        if line.startswith("# "):
            at = line.split('"')[1]
        elif at == path and re.search(r"\b(quarry|mr)_\w+\(", line):
            own.append(depth > 0)
        depth += line.count("{") - line.count("}")
    return path, "" if all(own) else "error: not in extern \"C\""


def main():
    found = tree.Findings()
    headers = [path for path in tree.sources(".h")
               if not path.startswith(("tests/bench/", "examples/"))]
    if not os.path.exists(os.path.join(PYTHON, "Python.h")):
        headers = [path for path in headers
                   if not path.startswith("bindings/python/")]
    if not DUCKDB:
        print("SKIPPED: headers of bigtable/sql/: DuckDB's are not here")
        headers = [path for path in headers
                   if not path.startswith("bigtable/sql/")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(compile_header, headers):
            if code:
                first = next((line for line in output.splitlines()
                              if "error" in line), output)
                found.add(path, 1, "does not compile alone: " + first)
        for path, output in pool.map(compile_in_cpp, public_headers()):
            if output:
                first = next((line for line in output.splitlines()
                              if "error" in line), output)
                found.add(path, 1, "does not compile in C++: " + first)
    found.finish()


main()

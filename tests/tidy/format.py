"""clang-format 14 would leave every source as it is. `format.py --fix` makes it
so."""

import concurrent.futures
import os
import shutil
import subprocess
import sys

import tree

TOOL = "clang-format-14"


def check(path):
    run = subprocess.run([TOOL, "--dry-run", "-Werror", path], cwd=tree.ROOT,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    return path, run.returncode, run.stdout


def main():
    if not shutil.which(TOOL):
        print("SKIPPED: %s is not installed (scripts/deps test)" % TOOL)
        sys.exit(77)
    sources = tree.sources(".c", ".h", ".cc")
    if sys.argv[1:] == ["--fix"]:
        subprocess.run([TOOL, "-i"] + sources, cwd=tree.ROOT, check=True)
        return
    found = tree.Findings()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(check, sources):
            if code:
                line = output.split(":")[1] if ":" in output else "1"
                found.add(path, int(line) if line.isdigit() else 1,
                          "not as clang-format 14 writes it")
    found.finish()


main()

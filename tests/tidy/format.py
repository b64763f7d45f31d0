"""clang-format 14 would leave every source as it is. `format.py --fix` makes it
so."""

import concurrent.futures
import os
import shutil
import subprocess
import sys

import tree

TOOL = "clang-format-14"


# Files a process looks at: starting it costs more than looking.
BATCH = 40


def check(paths):
    """{path: line} of the first place in each that would change."""
    run = subprocess.run([TOOL, "--dry-run", "-Werror"] + paths, cwd=tree.ROOT,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False)
    bad = {}
    for line in run.stdout.splitlines():
        parts = line.split(":")
        if len(parts) > 3 and parts[1].isdigit():
            bad.setdefault(parts[0], int(parts[1]))
    if run.returncode and not bad:
        bad[paths[0]] = 1
    return bad


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
        batches = [sources[i:i + BATCH] for i in range(0, len(sources), BATCH)]
        for bad in pool.map(check, batches):
            for path, line in bad.items():
                found.add(path, line, "not as clang-format 14 writes it")
    found.finish()


main()

#!/usr/bin/env python3
"""Make the files that a release leaves behind, for the releases after it.

    tests/golden/make.py QUARRY RELEASE

QUARRY is the program of the release. Writes RELEASE.tar.xz here: a store in a
directory and the node of a cluster of one, as they are after their processes
were killed, and what commands printed about both. It is made once, when the
release is; test_golden.py of every later program has to read the same.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROWS = 60
FILLED = 40


def write(run, target):
    """Tables with what a release can store: flushed, in the log, deleted,
    counted, in transactions' format, in a snapshot."""
    run("table", "create", "web", "--family", "a,versions=3,group=page",
        "--family", "n,aggregate=sum,group=page", "--family", "b",
        "--group", "page,compression=zstd,bloom=rowcol", "--changes", "100d",
        *target)
    run("table", "create", "accounts", "--family", "x", "--transactions",
        *target)
    for i in range(FILLED):
        run("put", "web", "r%03d" % i, "a:x=%s" % ("value %d " % i * 20),
            "b:y=%d" % (i * i), *target)
    run("table", "snapshot", "web", "before", *target)
    run("table", "split", "web", "r020", *target)
    run("table", "compact", "web", *target)
    for i in range(FILLED, ROWS):
        run("put", "web", "r%03d" % i, "a:x=late %d" % i, *target)
    for i in range(0, 30, 7):
        run("delete", "web", "r%03d" % i, *target)
        run("add", "web", "r%03d" % (i + 1), "n:hits", "3", *target)
        run("add", "web", "r%03d" % (i + 1), "n:hits", "4", *target)
    run("put", "accounts", "alice", "x:balance=10", *target)
    run("check-and-put", "accounts", "alice", "--if", "x:balance=10",
        "x:balance=7", *target)


QUESTIONS = [
    ["scan", "web", "--format", "json"],
    ["scan", "accounts", "--format", "json"],
    ["count", "web", "--format", "json"],
    ["changes", "web", "--format", "json"],
    ["snapshot", "list", "--format", "json"],
    ["table", "describe", "web"],
    ["table", "describe", "accounts"],
]


def ask(run, target):
    return {" ".join(q): run(*q, *target) for q in QUESTIONS}


def without_life(entry):
    """Nothing of the process, and of nobody in particular."""
    if entry.name.endswith(("/pid", "/out")):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


def main():
    quarry, release = sys.argv[1:]
    here = os.path.dirname(os.path.abspath(__file__))
    work = tempfile.mkdtemp()

    def run(*words):
        done = subprocess.run([os.path.abspath(quarry), *words], cwd=work,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()
    store, cluster = ["-t", "file:store"], ["-t", "cluster:cluster"]
    write(run, store)
    run("cluster", "start", "-n", "1", "--data", "cluster", "-q")
    write(run, cluster)
    said = {"store": ask(run, store), "cluster": ask(run, cluster)}
    run("cluster", "kill", "n1", "--data", "cluster")
    with open(os.path.join(work, "said.json"), "w") as f:
        json.dump(said, f, indent=1, sort_keys=True)
    path = os.path.join(here, release + ".tar.xz")
    with tarfile.open(path, "w:xz", preset=9) as tar:
        for name in ("store", "cluster", "said.json"):
            tar.add(os.path.join(work, name), name, filter=without_life)
    shutil.rmtree(work)
    print(path, os.path.getsize(path))


if __name__ == "__main__":
    main()

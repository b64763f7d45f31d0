"""Scans of the Python package beside the C library's plain scan, in turn: CPU of
cells and of columns as Arrow, and of rows as objects.

    PYTHONPATH=BUILD/python python3 tests/bench/python_scan.py BUILD [ROUNDS]

BUILD is an optimised one with -DQUARRY_BENCH=ON (targets bench_scan_cells,
quarry_python). pyarrow has to be installed: it reads the streams."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

import pyarrow

import quarry

ROWS = 1_000_000
COLUMNS = {"a": "anchor:a", "c": "contents:", "n": ("n:c", "int64")}


def cpu():
    """Seconds of CPU so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def fill(target):
    """A million rows of three cells, compacted."""
    with quarry.open(target) as db:
        table = db.create_table("web", {"contents": "", "anchor": "", "n": ""})
        with table.batch(durability="deferred") as batch:
            for i in range(ROWS):
                batch.put("com.example.host%d/page/r%07d" % (i % 100, i),
                          {"anchor:a": "v%d" % i, "contents:": "x" * 100,
                           "n:c": i.to_bytes(8, "big")})
        db.flush()
        db.compact("web")


def timed(run):
    """CPU of a second run: the first fills the caches."""
    run()
    begin = cpu()
    run()
    return cpu() - begin


def drain(scan):
    """Read all batches of an Arrow scan."""
    return sum(b.num_rows for b in pyarrow.RecordBatchReader.from_stream(scan))


def main():
    build = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    took = {"C": [], "cells": [], "columns": [], "rows": []}
    with tempfile.TemporaryDirectory() as where:
        target = "file:" + where + "/db"
        fill(target)
        for _ in range(rounds):
            out = subprocess.run(
                [os.path.join(build, "tests", "bench",
                              "bench_scan_cells"), target,
                 "web"], stdout=subprocess.PIPE, check=True).stdout.split()
            took["C"].append(float(out[1]))
            with quarry.open(target, read_only=True) as db:
                table = db["web"]
                took["cells"].append(timed(lambda: drain(table.scan_arrow())))
                took["columns"].append(
                    timed(lambda: drain(table.scan_arrow(COLUMNS))))
                took["rows"].append(timed(lambda: sum(1 for _ in table)))
    plain = statistics.median(took["C"])
    for name, seconds in took.items():
        middle = statistics.median(seconds)
        print("%-8s %.3f s of CPU, rate %.2f of C's" %
              (name, middle, plain / middle))


main()

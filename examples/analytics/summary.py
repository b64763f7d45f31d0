#!/usr/bin/env python3
"""The job that keeps the summary table: `summary.py map` reads cells of the raw
click table, `summary.py reduce` writes cells of the summary.

A line of input is a cell: row, column, time, value. The row of the summary is
the site, the columns are day:DATE with sessions, clicks and seconds, and
country:CODE with the sessions of all days seen."""

import sys


def cells(lines):
    """The lines by row: (row, {column: value})."""
    last, columns = None, {}
    for line in lines:
        row, column, _, value = line.rstrip("\n").split("\t")
        if row != last and columns:
            yield last, columns
            columns = {}
        last = row
        columns[column.split(":", 1)[1]] = value
    if columns:
        yield last, columns


def map_sessions():
    for row, c in cells(sys.stdin):
        site = row.split("#", 1)[0]
        print("%s day:%s\t1 %s %s" % (site, c["begin"][:10], c["clicks"],
                                      c["seconds"]))
        print("%s country:%s\t1 0 0" % (site, c["country"]))


def put(key, total):
    site, column = key.split(" ", 1)
    value = str(total[0])
    if column.startswith("day:"):
        value = "sessions=%d clicks=%d seconds=%d" % tuple(total)
    # No time: the cell has that of the job.
    print(site, column, "", value, sep="\t")


def reduce_sums():
    last, total = None, None
    for line in sys.stdin:
        key, value = line.rstrip("\n").split("\t")
        if key != last:
            if last is not None:
                put(last, total)
            last, total = key, [0, 0, 0]
        total = [a + int(b) for a, b in zip(total, value.split())]
    if last is not None:
        put(last, total)


{"map": map_sessions, "reduce": reduce_sums}[sys.argv[1]]()

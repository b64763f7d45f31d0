#!/usr/bin/env python3
"""The job of sessions.c as commands of a streaming job: `sessions.py map` reads
lines of the log, `sessions.py reduce` lines "visitor<tab>seconds", sorted by
visitor. Values of one visitor come in the order of the input, not of time."""

import os
import sys

CONTROL = int(os.environ.get("QUARRY_CONTROL", "2"))
GAP = int(os.environ.get("QUARRY_PARAM_gap_s", "1800"))


def count(name, by=1):
    os.write(CONTROL, b"count %s %d\n" % (name.encode(), by))


def robots():
    path = os.environ.get("QUARRY_FILE_robots")
    if not path:
        return set()
    with open(path) as f:
        return set(f.read().split())


def map_lines():
    skip = robots()
    for line in sys.stdin:
        words = line.split()
        if len(words) < 2 or not words[0].isdigit():
            count("bad_lines")
        elif words[1] in skip:
            count("robot_requests")
        else:
            print(words[1], words[0], sep="\t")


def visits(visitor, times):
    times.sort()
    begin = last = times[0]
    sessions, longest = 1, 0
    for at in times:
        if at - last > GAP:
            sessions += 1
            begin = at
        last = at
        longest = max(longest, at - begin)
    count("sessions", sessions)
    print(visitor, sessions, len(times), longest, sep="\t")


def reduce_lines():
    visitor, times = None, []
    for line in sys.stdin:
        key, seconds = line.rstrip("\n").split("\t")
        if key != visitor and times:
            visits(visitor, times)
            times = []
        visitor = key
        times.append(int(seconds))
    if times:
        visits(visitor, times)


if __name__ == "__main__":
    {"map": map_lines, "reduce": reduce_lines}[sys.argv[1]]()

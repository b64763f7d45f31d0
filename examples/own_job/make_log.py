#!/usr/bin/env python3
"""An access log: `make_log.py LINES` prints lines "seconds visitor page", the
same ones every time."""

import random
import sys


def main():
    r = random.Random(1)
    now = 1700000000
    for _ in range(int(sys.argv[1])):
        now += r.randrange(1, 120)
        visitor = "v%03d" % min(r.randrange(200), r.randrange(200))
        if r.randrange(500) == 0:
            print("a line that is no request")
        print(now, visitor, "/page%d" % r.randrange(40))


main()

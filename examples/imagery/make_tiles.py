#!/usr/bin/env python3
"""Pictures of a small country: `make_tiles.py SOURCE LEVEL` prints CSV of the
tiles that one source has, the same every time.

A row is a place as a quadkey: each digit halves the square in both directions,
so that what lies together on the map lies together in the table. A tile is
4 x 4 grey values, one letter each from a (dark) to z (bright); '.' is a cloud."""

import math
import random
import sys

SIDE = 4


def quadkey(x, y, level):
    digits = ""
    for bit in range(level - 1, -1, -1):
        digits += str(2 * (y >> bit & 1) + (x >> bit & 1))
    return digits


def height(x, y):
    """The land: hills in a sea."""
    return 0.5 + 0.5 * math.sin(x / 7.0) * math.cos(y / 5.0)


def tile(x, y, r, cloudy):
    text = ""
    for j in range(SIDE):
        for i in range(SIDE):
            if r.random() < cloudy:
                text += "."
            else:
                grey = height(x * SIDE + i, y * SIDE + j)
                text += chr(ord("a") + min(25, int(grey * 26)))
    return text


def main():
    source, level = sys.argv[1], int(sys.argv[2])
    r = random.Random(source)
    days = {"satellite": 4, "aerial": 1}[source]
    print("place,time,%s" % source)
    for y in range(1 << level):
        for x in range(1 << level):
            for day in range(days):
                if source == "aerial" and r.randrange(3):
                    continue
                cloudy = 0.6 * r.random() if source == "satellite" else 0.02
                at = (1714521600 + day * 86400) * 1000000
                print("%s,%d,%s" % (quadkey(x, y, level), at,
                                    tile(x, y, r, cloudy)))


main()

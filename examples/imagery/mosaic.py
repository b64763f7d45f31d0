#!/usr/bin/env python3
"""The job that makes the map from the pictures.

`mosaic.py map` reads the cells of raw tiles, all sources and times of a place,
and makes one clear tile of them: for each point the newest value that is no
cloud, aerial before satellite. It goes out under the place itself and, made
smaller, under each place that contains it. `mosaic.py reduce` puts tiles
together and writes cells of the index table, with a count of the points that
stayed clouded."""

import sys

SIDE = 4
QUALITY = {"aerial": 1, "satellite": 0}


def merge(layers):
    """The best value of each point; @layers: (quality, time, tile)."""
    points = ["."] * (SIDE * SIDE)
    for _, _, tile in sorted(layers):
        points = [new if new != "." else old
                  for new, old in zip(tile, points)]
    return "".join(points)


def mean(values):
    known = [ord(v) for v in values if v != "."]
    return chr(round(sum(known) / len(known))) if known else "."


def halve(tile):
    """The four quarters of a parent's picture that this tile becomes: 2 x 2."""
    return "".join(
        mean([tile[(2 * y + j) * SIDE + 2 * x + i]
              for j in (0, 1) for i in (0, 1)])
        for y in range(SIDE // 2) for x in range(SIDE // 2))


def emit(place, layers):
    tile = merge(layers)
    print("%s\t%s" % (place, tile))
    small = halve(tile)
    print("%s\t%s %s" % (place[:-1] or "world", place[-1], small))


def map_tiles():
    last, layers = None, []
    for line in sys.stdin:
        place, column, at, value = line.rstrip("\n").split("\t")
        if place != last and layers:
            emit(last, layers)
            layers = []
        last = place
        source = column.split(":", 1)[1]
        layers.append((QUALITY[source], int(at), value))
    if layers:
        emit(last, layers)


def put(place, parts):
    tile = ["."] * (SIDE * SIDE)
    for part in parts:
        words = part.split()
        if len(words) == 1:
            tile = list(words[0])
            continue
        corner, small = int(words[0]), words[1]
        for y in range(2):
            for x in range(2):
                at = (2 * (corner >> 1) + y) * SIDE + 2 * (corner & 1) + x
                tile[at] = small[2 * y + x]
    print(place, "tile:mosaic", "", "".join(tile), sep="\t")
    print(place, "tile:clouded", "", tile.count("."), sep="\t")


def reduce_tiles():
    last, parts = None, []
    for line in sys.stdin:
        place, part = line.rstrip("\n").split("\t")
        if place != last and parts:
            put(last, parts)
            parts = []
        last = place
        parts.append(part)
    if parts:
        put(last, parts)


{"map": map_tiles, "reduce": reduce_tiles}[sys.argv[1]]()

#!/usr/bin/env python3
"""Results for one user: `rank.py` reads lines "topic page" and the profile that
`quarry get --format json` prints is in the file named as argument; pages of the
topics the user likes come first."""

import json
import sys


def main():
    likes = {}
    with open(sys.argv[1]) as f:
        for cell in json.load(f)["cells"]:
            likes[cell["qualifier"]] = float(cell["value"])
    pages = [line.split() for line in sys.stdin]
    pages.sort(key=lambda p: -likes.get(p[0], 0.0))
    for topic, page in pages:
        print("%-8s %6.2f  %s" % (topic, likes.get(topic, 0.0), page))


main()

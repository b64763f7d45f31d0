#!/usr/bin/env python3
"""Actions of a search engine's users: `make_actions.py KIND USERS` prints CSV of
the queries, or of the clicks, the same every time. The row is the user; the
time of an action is the time of its cell."""

import random
import sys

TOPICS = {
    "cooking": ["bread", "soup", "pasta", "oven"],
    "sailing": ["boat", "wind", "harbour", "knots"],
    "chess": ["opening", "endgame", "gambit", "clock"],
    "gardens": ["roses", "compost", "seeds", "hedge"],
}
BEGIN_US = 1714521600 * 1000000


def main():
    kind, users = sys.argv[1], int(sys.argv[2])
    r = random.Random(7)
    print("user,time,%s" % kind)
    for user in range(users):
        likes = r.sample(sorted(TOPICS), 2)
        for i in range(r.randrange(3, 12)):
            topic = likes[r.randrange(4) == 0]
            word = r.choice(TOPICS[topic])
            at = BEGIN_US + (i * 3600 + r.randrange(3600)) * 1000000
            clicked = r.randrange(3) > 0
            if kind == "query":
                print("user%04d,%d,%s" % (user, at, word))
            elif clicked:
                print("user%04d,%d,%s.example/%s" % (user, at + 20000000,
                                                     topic, word))


main()

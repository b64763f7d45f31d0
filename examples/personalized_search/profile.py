#!/usr/bin/env python3
"""The job that makes profiles: a mapper that reads the cells of users and writes
cells of the same rows, family profile. Clicks say more about a user than
queries, and what is old says less: half as much each six hours."""

import sys

HALF_LIFE_US = 6 * 3600 * 1000000
TOPIC_OF = {word: topic for topic, words in {
    "cooking": ["bread", "soup", "pasta", "oven"],
    "sailing": ["boat", "wind", "harbour", "knots"],
    "chess": ["opening", "endgame", "gambit", "clock"],
    "gardens": ["roses", "compost", "seeds", "hedge"],
}.items() for word in words}


def action(column, value):
    """Topic and weight of one cell."""
    if column == "query:query":
        return TOPIC_OF.get(value), 1.0
    if column == "click:click":
        return value.split(".", 1)[0], 3.0
    return None, 0.0


def put(user, actions):
    newest = max(at for _, _, at in actions)
    score = {}
    for topic, weight, at in actions:
        age = (newest - at) / HALF_LIFE_US
        score[topic] = score.get(topic, 0.0) + weight * 0.5 ** age
    for topic in sorted(score):
        print(user, "profile:" + topic, "", "%.2f" % score[topic], sep="\t")


def main():
    last, actions = None, []
    for line in sys.stdin:
        user, column, at, value = line.rstrip("\n").split("\t")
        if user != last and actions:
            put(last, actions)
            actions = []
        last = user
        topic, weight = action(column, value)
        if topic:
            actions.append((topic, weight, int(at)))
    if actions:
        put(last, actions)


main()

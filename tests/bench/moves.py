"""Tablets are moved between servers, by hand, while nobody and while many write:
for how long are the rows of one not served?

    moves.py [--moves N] [--rate ROWS] [--data MB] [--tablets N]

Under load it is also said how long the slowest write waited, from when it was
due: 5,000 rows a second that go to all tablets at random.
"""

import argparse
import random
import re
import signal
import statistics
import subprocess

from cell import Cell, row, say
from recovery import keys

TABLE = "t"
MASTER = "balance = 1d"
BAR_MS = 300


def moves(c, some, count):
    """How long rows were not served, in ms, of each move."""
    rand = random.Random(1)
    out = []
    while len(out) < count:
        to = c.address(rand.choice(c.servers))
        said = c.quarry("table", "move", TABLE, rand.choice(some), to)
        found = re.search(r"not served for (\S+) ms", said)
        if found:
            out.append(float(found.group(1)))
    say(" ".join("%.0f" % ms for ms in out))
    return out


def report(what, times):
    row("move, %s: median" % what, statistics.median(times), BAR_MS, "ms")
    row("move, %s: worst of %d" % (what, len(times)), max(times), BAR_MS, "ms")


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--moves", type=int, default=50)
    p.add_argument("--rate", type=int, default=5000)
    p.add_argument("--data", type=int, default=200)
    p.add_argument("--tablets", type=int, default=8)
    o = p.parse_args()
    cuts, some = keys(o.tablets)
    with Cell(3, "", MASTER) as c:
        c.quarry("table", "create", TABLE, "--family", "f")
        c.quarry("table", "split", TABLE, *cuts)
        c.await_served()
        c.rows("fill", TABLE, "0", str(o.data * 1000))
        report("idle", moves(c, some, o.moves))
        writer = subprocess.Popen(
            c.rows_command("write", TABLE, str(o.data * 1000), str(o.rate),
                           "600"), stdout=subprocess.PIPE, text=True)
        report("%d rows/s written" % o.rate, moves(c, some, o.moves))
        writer.send_signal(signal.SIGTERM)
        said, _ = writer.communicate()
        count, median, p99, worst = said.split()
        say("%s rows: median %s ms, p99 %s ms" % (count, median, p99))
        row("move, slowest write", float(worst), BAR_MS, "ms")


if __name__ == "__main__":
    main()

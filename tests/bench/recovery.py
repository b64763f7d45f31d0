"""A tablet server is killed that has data in files and, in its log alone, rows
that were written last: when are all of its tablets read again?

    recovery.py [--data MB] [--log MB] [--tablets N] [--servers N]

Times count from the end of the lock of the dead server, as the master notes it.
"""

import argparse
import calendar
import os
import re
import signal
import subprocess
import time

from cell import Cell, row, say

TABLE = "t"
KEYS = 10 ** 12  # Of the rows of bench_rows.
# So that all is unflushed that is written last, and stays where it is.
TABLET = "memtables = 1GiB\nlog = 1GiB"
MASTER = "balance = 1d"


def stamp(line):
    """Seconds since 1970 of a line of a log."""
    m = re.match(r"(\d+-\d+-\d+T\d+:\d+:\d+)(\.\d+)?Z", line)
    return calendar.timegm(time.strptime(m.group(1), "%Y-%m-%dT%H:%M:%S")) + \
        float(m.group(2) or 0)


def noted(log, what, since):
    return [stamp(line) for line in log.splitlines()
            if " %s " % what in line and stamp(line) >= since]


def keys(tablets):
    """One of each tablet, its cuts, and the keys that bench_rows has there."""
    cuts = ["%012d" % (KEYS * i // tablets) for i in range(1, tablets)]
    some, i = {}, 0
    while len(some) < tablets:
        key = i * 2654435761 % KEYS
        some.setdefault(key * tablets // KEYS, "%012d" % key)
        i += 1
    return cuts, list(some.values())


def measure(o, data_mb):
    cuts, some = keys(o.tablets)
    with Cell(o.servers, TABLET, MASTER) as c:
        victim, others = c.servers[0], c.servers[1:]
        for node in others:
            os.kill(c.pid(node), signal.SIGTERM)
        c.await_served(1)
        c.quarry("table", "create", TABLE, "--family", "f")
        c.quarry("table", "split", TABLE, *cuts)
        c.await_served(1)
        rate = c.rows("fill", TABLE, "0", str(data_mb * 1000))
        say("%d MB at %s rows/s" % (data_mb, rate.strip()))
        c.rows("flush", TABLE)
        c.cluster("start")
        c.await_served()
        c.rows("fill", TABLE, str(data_mb * 1000), str(o.log * 1000))
        say("tablet server: %r" % c.said("tablet")[victim])
        return kill(c, victim, some)


def kill(c, victim, some):
    at = time.time()
    os.kill(c.pid(victim), signal.SIGKILL)
    done = subprocess.run(c.rows_command("await", TABLE, *some),
                          stdout=subprocess.PIPE, check=True, text=True)
    read = sorted(float(line.split()[0]) for line in done.stdout.splitlines())
    c.await_served(len(c.servers) - 1)
    log = c.log(c.master()[0])
    death = noted(log, "server_death", at)[0]
    say("lock ends %.2f s after the kill; log sorted %r s, tablets loaded %r s, "
        "read %r s after that" % (
            death - at,
            [round(t - death, 2) for t in noted(log, "recovery", at)],
            [round(t - death, 2) for t in noted(log, "assignment", at)],
            [round(t - death, 2) for t in read]))
    return read[-1] - death, read[len(read) // 2] - death


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", type=int, action="append")
    p.add_argument("--log", type=int, default=256)
    p.add_argument("--tablets", type=int, default=16)
    p.add_argument("--servers", type=int, default=3)
    o = p.parse_args()
    for data in o.data or [2000, 500]:
        last, median = measure(o, data)
        what = "%d MB and a log of %d MB, " % (data, o.log)
        row("recovery: %sall tablets" % what, last, 5, "s")
        row("recovery: %smedian tablet" % what, median, 5, "s")


if __name__ == "__main__":
    main()

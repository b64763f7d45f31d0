"""The cost of idle processes: CPU time (user and system) of the nodes of a
cluster with all roles on three of them, and of an embedded store that a shell
has open, in percent of a core.

    idle.py [--seconds N]
"""

import argparse
import os
import subprocess
import tempfile
import time

from cell import QUARRY, row

BAR_PERCENT = 0.2
TICKS = os.sysconf("SC_CLK_TCK")
SETTLE_SECONDS = 20


def ticks(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def percent(pids, seconds):
    time.sleep(SETTLE_SECONDS)
    before = [ticks(p) for p in pids]
    begun = time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - begun
    return [100 * (ticks(p) - b) / TICKS / took for p, b in zip(pids, before)]


def cluster(top, seconds):
    data = os.path.join(top, "cell")
    target = ["-t", "cluster:" + data]
    subprocess.run([QUARRY, "cluster", "start", "--data", data], check=True,
                   stdout=subprocess.DEVNULL)
    try:
        subprocess.run([QUARRY, "table", "create", "t", "--family", "f"] +
                       target, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([QUARRY, "put", "t", "r", "f:q=v"] + target, check=True,
                       stdout=subprocess.DEVNULL)
        pids = []
        for i in (1, 2, 3):
            with open(os.path.join(data, "n%d" % i, "pid")) as f:
                pids.append(int(f.read()))
        for i, p in enumerate(percent(pids, seconds)):
            row("idle node n%d" % (i + 1), p, BAR_PERCENT, "% of a core")
    finally:
        subprocess.run([QUARRY, "cluster", "stop", "--data", data],
                       check=False, stdout=subprocess.DEVNULL)


def embedded(top, seconds):
    target = ["-t", "file:" + os.path.join(top, "store")]
    subprocess.run([QUARRY, "table", "create", "t", "--family", "f"] + target,
                   check=True, stdout=subprocess.DEVNULL)
    shell = subprocess.Popen([QUARRY, "shell"] + target, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    shell.stdin.write("put t r f:q=v\n")
    shell.stdin.flush()
    row("idle embedded store", percent([shell.pid], seconds)[0], 0.01,
        "% of a core")
    shell.stdin.close()
    shell.wait()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--seconds", type=int, default=60)
    o = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="quarry-idle.") as top:
        cluster(top, o.seconds)
        embedded(top, o.seconds)


if __name__ == "__main__":
    main()

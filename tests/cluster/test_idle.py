"""A cluster that nobody uses is at rest: its processes are woken seldom."""

import os
import time

from processes import ClusterTest, main

# Of a node that leads everything, with two others: it wakes 55 times a second.
# A heartbeat of 50 ms for each of its two cells alone made 160.
WAKES_PER_SECOND_MAX = 110
LOOK_SECONDS = 8
TRIES = 6


def wakes(pid):
    """How often all threads of a process went to sleep so far."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, thread)) as f:
            for line in f:
                if line.startswith("voluntary_ctxt_switches"):
                    total += int(line.split()[1])
    return total


class IdleTest(ClusterTest):
    def test_nobody_uses_it(self):
        """After a few seconds without calls each node sleeps most of the
        time. Work that its start left may take longer on a busy machine."""
        c = self.loopback(3)
        self.ok("table", "create", "t", "--family", "f", "-t",
                "cluster:quarry-cluster")
        self.ok("put", "t", "r", "f:q=v", "-t", "cluster:quarry-cluster")
        pids = [c.pid("n%d" % i) for i in (1, 2, 3)]
        seen = []
        for _ in range(TRIES):
            before = [wakes(pid) for pid in pids]
            begun = time.monotonic()
            time.sleep(LOOK_SECONDS)
            seconds = time.monotonic() - begun
            seen = [(wakes(pid) - b) / seconds for pid, b in zip(pids, before)]
            if max(seen) <= WAKES_PER_SECOND_MAX:
                return
        self.fail("wakes a second of three idle nodes: %s" % seen)


if __name__ == "__main__":
    main()

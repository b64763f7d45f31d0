"""Users of tables whose nodes are killed, paused, stopped and started again at
random: the answers about each row are those of some order of the calls, and
every row is there at the end. See storm.py.

    scripts/soak_tables MINUTES [NODES]
"""

import os
import random
import time

import storm
from processes import main
from test_tablets import HASTY, TabletsTest

SECONDS = 12
NODES = int(os.environ.get("QUARRY_STORM_NODES", "3"))
CLIENT_PROCESSES = 3
WITHIN_SECONDS = 120


class TablesStorm(storm.Storm):
    FAULTS = ("kill", "kill", "kill", "kill_two", "kill_all", "pause", "pause",
              "kill_paused", "restart", "replace_client", "split", "split")

    def __init__(self, test, cluster, seed):
        super().__init__(test, cluster, seed)
        self.origin = storm.now_us()

    def options(self):
        return super().options() + ["--tables", "--origin", str(self.origin)]

    def split(self):
        self.test.run_quarry("table", "split", "rows",
                             "%02x" % self.rand.randrange(256), "-t",
                             self.target)

    def rage(self, seconds, faults):
        self.clients = [self.start_client() for _ in range(CLIENT_PROCESSES)]
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                self.strike(4, faults)
        finally:
            self.end_clients()

    def judge(self):
        last = self.test.path("journal0")
        said = self.run_storm("finish", *self.options(), "--journal", last,
                              "--index", "0", "--within",
                              str(WITHIN_SECONDS), *self.journals)
        said += self.run_storm("check", last, *self.journals)
        print("  faults: %s" % " ".join(
            "%s=%d" % f for f in sorted(self.faults.items())))
        print("  judged: %s" % " ".join(said), flush=True)


# Tablets split early.
OPTIONS = "split = 256KiB\nmemtables = 1MiB\nlog-segment = 1MiB\n"


class RowsTest(TabletsTest):
    def test_rows(self):
        """Nodes and clients that are killed, paused and restarted."""
        seed = int(os.environ.get("QUARRY_STORM_SEED", "0")) or \
            random.SystemRandom().randrange(1, 1 << 31)
        print("%s: seed %d, %d nodes" % (self.id(), seed, NODES), flush=True)
        c = self.loopback(NODES, settings=HASTY % OPTIONS)
        self.await_served(c, NODES)
        s = TablesStorm(self, c, seed)
        s.rage(float(os.environ.get("QUARRY_STORM_SECONDS", SECONDS)),
               TablesStorm.FAULTS)
        s.judge()


if __name__ == "__main__":
    main()

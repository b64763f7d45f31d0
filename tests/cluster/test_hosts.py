"""Nodes on hosts of their own, with bad cables, clocks that are stepped, and
disks that fill up and are lost, while users of tables work: the answers about
each row are those of some order of the calls, and nothing acknowledged is lost.
See storm.py and network.py."""

import os
import random

import storm
from network import DISK_BYTES
from processes import ClusterTest, main
from tablets_storm import OPTIONS, TablesStorm

# Of a run in CI.
SECONDS = 10

# The dead are known soon, and tablets split early.
SETTINGS = ("[tablet]\nlease = 3s\n" + OPTIONS + "[master]\nlease = 3s\n"
            "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n")


class HostsStorm(TablesStorm):
    FAULTS = (storm.Storm.NETWORK_FAULTS + 2 * storm.Storm.DISK_FAULTS +
              2 * storm.Storm.CLOCK_FAULTS +
              ("kill", "kill_two", "pause", "restart", "split"))

    def judge(self):
        self.cluster.start_ended()
        super().judge()
        self.await_copies()


class HostsTest(ClusterTest):
    def test_rows(self):
        """Users of tables, over every fault there is."""
        seed = int(os.environ.get("QUARRY_STORM_SEED", "0")) or \
            random.SystemRandom().randrange(1, 1 << 31)
        print("%s: seed %d" % (self.id(), seed), flush=True)
        c = self.network(3, disks=DISK_BYTES, clocks=True, options=SETTINGS)
        s = HostsStorm(self, c, seed)
        s.rage(float(os.environ.get("QUARRY_STORM_SECONDS", SECONDS)),
               HostsStorm.FAULTS)
        s.judge()

    def test_disk_lost(self):
        """Each node in turn loses its disk: what the cluster has survives."""
        c = self.network(3, disks=DISK_BYTES, options=SETTINGS)
        s = HostsStorm(self, c, 1)
        self.env["QUARRY_TARGET"] = s.target
        self.wait_for(lambda: self.run_quarry(
            "table", "create", "t", "--family", "f").returncode == 0)
        self.ok("put", "t", "r", "f:x=1")
        for name in c.names:
            s.wipe_disk_of(name)
            self.assertIn("1", self.ok("get", "t", "r"))


if __name__ == "__main__":
    main()

"""Whatever befalls nodes and links, what clients saw is what one machine would
have shown them; nothing that was acknowledged is lost; and service is back by
itself. See storm.py."""

import storm
from processes import CELL, ClusterTest, main

# Of a run in CI.
SECONDS = 7


class HistoriesTest(ClusterTest):
    def test_processes(self):
        """Nodes and clients that are killed, paused and restarted."""
        storm.run(self, self.loopback(3, CELL), False, SECONDS)

    def test_network(self):
        """Nodes that are cut off, from all or from some, one way or both."""
        storm.run(self, self.network(3, CELL), True, SECONDS)

    def test_leader_replaced(self):
        """A killed leader of the lock service is replaced by itself. That it
        takes less than a second (docs/performance.md) is measured, not tested:
        this machine may be busy with other tests."""
        s = storm.Storm(self, self.loopback(3, CELL), 1)
        s.watch = storm.Watch(s)
        self.addCleanup(s.watch.end)
        self.wait_for(s.watch.leader)
        for _ in range(5):
            s.kill_leader()
        s.print_failovers()


if __name__ == "__main__":
    main()

"""Calls that a slow disk held up are kept as traces though nobody asked for them: they are found
among the slow calls, and their traces say that the disk's node spent the time."""

import json
import shutil
import signal
import subprocess

from processes import SECONDS, ClusterTest, Loopback, main

SYSCALLS = "fsync,fdatasync,pwritev2,sync_file_range"
# Of each write that the slow disk does; far more than a put takes, even on a busy machine.
DELAY_US = 1500000
SLOW_US = 1000000


class OneDisk(Loopback):
    """All of a cluster's files are on the disk of n2, which does nothing else."""

    def begin(self, roles, settings):
        self.make_nodes(roles, settings)
        self.set_roles("n1", "lock,namenode,tablet,master")
        self.set_roles("n2", "chunk")
        self.test.ok("cluster", "start")


class SlowTracesTest(ClusterTest):
    def document(self, *words):
        return json.loads(self.ok("monitor", *words))

    def slow_puts(self):
        return [s for s in self.document("calls", "method=tablet.apply",
                                         "min_us=%d" % SLOW_US)["slow"]
                if s["attributes"].get("table") == "web"]

    def hold_up(self, pid):
        strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + SYSCALLS, "-e",
             "inject=%s:delay_enter=%d" % (SYSCALLS, DELAY_US), "-p", str(pid)],
            stderr=subprocess.PIPE)
        self.addCleanup(strace.wait)
        self.addCleanup(strace.kill)
        return strace

    def test_slow_disk(self):
        if not shutil.which("strace"):
            self.skip("there is no strace (scripts/deps test)")
        c = self.begun(OneDisk(self, 2), None, "trace-sample = 0\n")
        self.env["QUARRY_TARGET"] = "cluster:quarry-cluster"
        self.ok("table", "create", "web", "--family", "f")
        self.ok("put", "web", "before", "f:q=v")
        strace = self.hold_up(c.pid("n2"))

        def kept():
            self.ok("put", "web", "row", "f:q=v")
            return self.slow_puts()
        slow = self.wait_for(kept, SECONDS)[0]
        strace.send_signal(signal.SIGTERM)
        strace.wait()
        self.assertEqual((slow["node"], slow["kept"], slow["outcome"]), ("n1", "slow", "ok"))
        spans = self.document("trace", "id=" + slow["trace_id"])["spans"]
        apply = next(s for s in spans if s["name"] == "tablet.apply" and s["kind"] == "server")
        self.assertGreaterEqual(apply["duration_us"], SLOW_US)
        # Down to the disk each part has most of the time.
        for name, node in (("log sync", "n1"), ("segment sync", "n1"), ("chunk.write", "n2"),
                           ("append and sync", "n2")):
            longest = max((s["duration_us"] for s in spans
                           if s["name"] == name and s["node"] == node), default=0)
            self.assertGreaterEqual(longest, apply["duration_us"] // 2, (name, spans))
        # Nothing else is kept that did not take long.
        self.assertFalse([s for s in spans if s["duration_us"] < SLOW_US // 100], spans)
        self.assertIn("append and sync", self.ok("trace", slow["trace_id"]))


if __name__ == "__main__":
    main()

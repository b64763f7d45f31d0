"""A directory serves one process: others are refused or wait, also when its
lock file was removed."""

import os
import threading
import time

from harness import CliTest, Terminal, main


class OneProcess(CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("a directory has one process")
        self.table()
        self.ok("put", "t", "r", "f:q=v")

    def shell(self):
        """A shell that has the directory open."""
        t = Terminal(self, "shell")
        t.prompt()
        t.line("count t")
        t.prompt()
        return t

    def test_refused(self):
        """The message says who has it, and what can be done."""
        t = self.shell()
        said = self.fails(1, "count", "t")
        self.assertIn("process %d" % t.pid, said)
        self.assertIn("--wait", said)
        self.fails(2, "count", "t", "--wait", "soon")
        begin = time.monotonic()
        self.fails(1, "count", "t", "--wait", "1")
        self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_waits(self):
        """With --wait a command takes its turn."""
        t = self.shell()
        counted = []
        waiting = threading.Thread(target=lambda: counted.append(
            self.run_quarry("count", "t", "--wait", "120")))
        waiting.start()
        time.sleep(0.5)
        self.assertEqual(counted, [])
        t.type("\x04")
        t.close()
        waiting.join()
        self.assertEqual(counted[0].returncode, 0, counted[0].stderr)
        self.assertIn(b"waiting: ", counted[0].stderr)

    def test_many_at_once(self):
        done = []
        threads = [threading.Thread(target=lambda: done.append(
            self.run_quarry("count", "t", "--wait", "120", "-q")))
            for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([d.returncode for d in done], [0] * 4)

    def test_lock_file_removed(self):
        """Whoever removes LOCK does not get a second process in."""
        t = self.shell()
        os.remove(self.path("quarry-data/LOCK"))
        self.assertIn("in use by another process",
                      self.fails(1, "put", "t", "s", "f:q=v"))
        t.line("count t")
        self.assertIn("1", t.prompt())
        t.type("\x04")
        t.close()
        self.ok("put", "t", "s", "f:q=v")
        self.assertEqual(self.json("count", "t")[0]["rows"], 2)


if __name__ == "__main__":
    main()

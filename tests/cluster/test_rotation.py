"""The key of a cluster of three is changed while rows are written."""

import os
import signal
import threading

from processes import ClusterTest, main

NODES = ("n1", "n2", "n3")


class RotationTest(ClusterTest):
    def put_key(self, c, *keys):
        """As the manual says: another file, renamed, and SIGHUP to all."""
        path = os.path.join(self.dir, c.data, "key")
        with open(path + ".new", "w") as f:
            f.write("".join(k + "\n" for k in keys))
        os.chmod(path + ".new", 0o600)
        os.rename(path + ".new", path)
        before = {n: c.log(n).count("read again what=security") for n in NODES}
        for name in NODES:
            os.kill(c.pid(name), signal.SIGHUP)
        self.wait_for(lambda: all(
            c.log(n).count("read again what=security") > before[n]
            for n in NODES))

    def test_key_is_changed(self):
        """No write fails; the old key opens until it is taken away."""
        c = self.loopback(3)
        t = ["-t", "cluster:" + os.path.join(self.dir, c.data)]
        with open(os.path.join(self.dir, c.data, "key")) as f:
            old = f.read().strip()
        new = "fedcba9876543210fedcba9876543210"
        for name, key in (("old", old), ("new", new)):
            self.write(name, key + "\n")
            os.chmod(self.path(name), 0o600)
        self.ok("table", "create", "web", "--family", "a", *t)
        written, failed, over = [], [], threading.Event()

        def write():
            """Each command makes new connections."""
            while not over.is_set():
                row = "r%04d" % len(written)
                done = self.run_quarry("put", "web", row, "a:x=1", *t)
                if done.returncode:
                    failed.append(done.stderr)
                written.append(row)

        def status(key):
            """Does the key open?"""
            with open(c.dir("n1") + "/server.conf") as f:
                line, = [x for x in f if x.startswith("listen = ")]
            address = line.split(" = ")[1].strip()
            return self.run_quarry("lock", "ls", "/", "-t", address, "--key",
                                   self.path(key)).returncode == 0
        writer = threading.Thread(target=write)
        writer.start()
        try:
            self.assertTrue(status("old"))
            self.put_key(c, old, new)
            self.assertTrue(status("old") and status("new"))
            self.put_key(c, new, old)
            self.assertTrue(status("old") and status("new"))
            self.put_key(c, new)
            self.assertTrue(status("new"))
            self.assertFalse(self.run_quarry(
                "lock", "ls", "/", "-t", "cluster:" + os.path.join(
                    self.dir, c.data)).returncode)
            # Nodes meet each other with it: one that begins is let in.
            c.kill("n3")
            c.start("n3")
            count = len(written)
            self.wait_for(lambda: len(written) > count + 3)
        finally:
            over.set()
            writer.join()
        self.assertEqual(failed, [])
        self.env["QUARRY_TIMEOUT"] = "3s"
        self.assertFalse(status("old"))
        out = self.ok("count", "web", *t)
        self.assertIn(str(len(written)), out)


if __name__ == "__main__":
    main()

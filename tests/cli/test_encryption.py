"""Directories that are encrypted, by the command line: keys are asked for, shown
and changed, also while another process writes."""

import os
import time

from harness import CliTest, Terminal, main

MARKER = b"plainly"


class Encryption(CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("a cluster's keys are its servers'")
        for name in "key", "other":
            self.new_key(name)
        self.env["QUARRY_ENCRYPTION_KEY"] = os.path.join(self.dir, "key")

    def new_key(self, name):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(os.urandom(32).hex().encode() + b"\n")
        os.chmod(path, 0o600)

    def files_with_marker(self):
        found = []
        for top, _, names in os.walk(os.path.join(self.dir, "quarry-data")):
            for name in names:
                try:
                    with open(os.path.join(top, name), "rb") as f:
                        if MARKER in f.read():
                            found.append(name)
                except FileNotFoundError:
                    pass  # Gone meanwhile.
        return found

    def status(self):
        """Rows of the sheets: that of keys, of tables, of logs."""
        lines = self.ok("encryption", "status", "--format", "csv").splitlines()
        return [line.split(",") for line in lines]

    def test_store(self):
        """Nothing of it can be read in its files; commands that look at files
        read them with the key."""
        self.table()
        self.ok("put", "t", "plainlyrow", "f:plainlyq=plainlyvalue")
        self.assertEqual(self.files_with_marker(), [])
        self.assertIn("plainlyvalue", self.ok("scan", "t"))
        self.ok("table", "compact", "t")
        self.ok("check", "quarry-data")
        tables = os.path.join(self.dir, "quarry-data", "tables")
        name = os.path.join(tables, os.listdir(tables)[0])
        self.assertIn("plainlyrow", self.ok("dump", "--entries", name))
        self.assertEqual(self.files_with_marker(), [])

    def test_keys_file(self):
        """KEYS shows ids and ages of its keys to all who can read it, and no
        key."""
        self.table()
        path = os.path.join("quarry-data", "KEYS")
        first, = self.json("dump", path)
        self.assertEqual(first["keys"], 1)
        self.ok("encryption", "rotate")
        # The master key is not needed, and another one does not matter.
        for key in None, os.path.join(self.dir, "other"):
            self.env.pop("QUARRY_ENCRYPTION_KEY", None)
            if key:
                self.env["QUARRY_ENCRYPTION_KEY"] = key
            row, = self.json("dump", path)
            self.assertEqual((row["keys"], row["master_key"]),
                             (2, first["master_key"]))
            old, new = self.json("dump", "--entries", path)
            self.assertEqual((old["key"], old["use"]),
                             (first["current"], "opens"))
            self.assertEqual((new["key"], new["use"]),
                             (row["current"], "seals"))
            self.assertLessEqual(old["created"], new["created"])
        with open(os.path.join(self.dir, path), "r+b") as f:
            f.seek(30)
            f.write(b"?")
        self.assertIn("checksum", self.fails(1, "dump", path))

    def test_no_key(self):
        self.table()
        del self.env["QUARRY_ENCRYPTION_KEY"]
        self.assertIn("no master key was given", self.fails(1, "scan", "t"))
        self.assertIn("the one given is", self.fails(
            1, "--encryption-key", "other", "scan", "t"))
        os.chmod(os.path.join(self.dir, "key"), 0o644)
        self.assertIn("chmod 600", self.fails(
            1, "--encryption-key", "key", "scan", "t"))

    def test_rotation_while_another_writes(self):
        """A shell that writes continues with a new data key and a new master
        key."""
        self.table()
        t = Terminal(self, "shell")
        t.prompt()
        for i in range(3):
            t.line("put t row%d f:q=v%d" % (i, i))
            t.prompt()
            self.ok("encryption", "rotate")
        self.ok("encryption", "rotate-master", "--encryption-key", "other",
                "--previous-encryption-key", "key")
        t.line("put t row3 f:q=v3")
        t.prompt()
        t.type("\x04")
        t.close()
        self.fails(1, "scan", "t")
        self.env["QUARRY_ENCRYPTION_KEY"] = os.path.join(self.dir, "other")
        scanned = self.ok("scan", "t")
        for i in range(4):
            self.assertIn("v%d" % i, scanned)
        self.assertIn("4", self.status()[1])

    def test_key_comes_later(self):
        """Files from before the key are counted until they are compacted."""
        key = self.env.pop("QUARRY_ENCRYPTION_KEY")
        self.table()
        self.ok("put", "t", "plainlyrow", "f:q=v")
        self.ok("table", "compact", "t")
        self.assertNotEqual(self.files_with_marker(), [])
        self.env["QUARRY_ENCRYPTION_KEY"] = key
        self.ok("put", "t", "another", "f:q=v")
        self.assertEqual(self.status()[3][:2], ["tables", "0"])
        self.ok("table", "compact", "t")
        self.assertEqual(self.status()[3][:2], ["tables", "1"])
        self.assertEqual(self.status()[3][4], "0")

    def test_job(self):
        """Attempts of a job read tables of an encrypted directory."""
        self.table()
        self.ok("put", "t", "plainlyrow", "f:q=v")
        self.ok("job", "run", "--mapper", "cut -f1", "--input", "table:t",
                "--output", "file:out")
        lines = b""
        for name in os.listdir(os.path.join(self.dir, "out")):
            with open(os.path.join(self.dir, "out", name), "rb") as f:
                lines += f.read()
        self.assertIn(MARKER, lines)
        self.assertEqual(self.files_with_marker(), [])

    def test_changes_and_history_of_jobs(self):
        """All files of a job in the directory are encrypted, while it runs and
        afterwards."""
        self.table("t")
        self.table("u")
        for i in range(20):
            self.ok("put", "t", "plainlyrow%d" % i, "f:q=plainlyvalue%d" % i)
        job = self.start(
            "job", "run", "--mapper", "cut -f1,2,4; sleep 1", "--reducer",
            "cat; sleep 1", "--input", "table:t", "--output", "table:u",
            "--output", "table:t")
        while job.poll() is None:
            self.assertEqual(self.files_with_marker(), [])
            time.sleep(0.1)
        self.assertEqual(job.returncode, 0)
        self.assertIn("plainlyvalue7", self.ok("scan", "u"))
        self.assertIn("plainlyrow", self.fails(
            1, "job", "run", "--mapper", "cut -f1 | sed 's/^/no:/'",
            "--input", "table:t", "--output", "table:u"))
        self.assertEqual(self.files_with_marker(), [])
        self.assertIn("plainlyrow", self.ok("job", "status", "last"))
        del self.env["QUARRY_ENCRYPTION_KEY"]
        self.assertIn("no master key was given", self.fails(1, "job", "list"))


if __name__ == "__main__":
    main()

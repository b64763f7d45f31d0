"""Jobs of Python functions, and the private server of the Bigtable API."""

import os
import socket
import subprocess
import sys
import tempfile
import unittest

import quarry
from quarry import task_runner


def words(line):
    """A mapper of lines."""
    for word in line.split():
        yield word, 1


def total(word, counts):
    """A reducer, and combiner."""
    yield word, sum(map(int, counts))


def links(row):
    """A mapper of rows."""
    for target in row.family("link"):
        yield target, row.key


def sources(target, pages):
    """A reducer whose output is a table."""
    yield target, "in:", b",".join(sorted(pages))


def broken(line):
    """A mapper that fails."""
    raise RuntimeError("broken on purpose")


class Jobs(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.out = os.path.join(self.dir.name, "out")
        self.target = "file:" + os.path.join(self.dir.name, "db")

    def tearDown(self):
        self.dir.cleanup()

    def test_lines(self):
        path = os.path.join(self.dir.name, "in.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("a b a\nb\ta\\\n" * 100)
        job = quarry.jobs.run(mapper=words, reducer=total, combiner=total,
                              inputs=["file:" + path],
                              outputs=["file:" + self.out], target=self.target,
                              python=PYTHON, options=SANDBOX)
        self.assertTrue(job.id)
        text = b""
        for name in sorted(os.listdir(self.out)):
            if name.startswith("part-"):
                with open(os.path.join(self.out, name), "rb") as f:
                    text += f.read()
        self.assertEqual(sorted(text.splitlines()),
                         [b"a\t200", b"a\\\\\t100", b"b\t200"])

    def test_rows(self):
        with quarry.open(self.target) as db:
            t = db.create_table("pages", ["link"])
            t.put("x", {"link:y": "", b"link:a\tb\\": "1"})
            t.put("z", {"link:y": "2"})
            db.create_table("into", ["in"])
        quarry.jobs.run(mapper=links, reducer=sources, inputs=["table:pages"],
                        outputs=["table:into"], target=self.target,
                        python=PYTHON, options=SANDBOX)
        with quarry.open(self.target) as db:
            self.assertEqual({r.key: r["in:"] for r in db["into"]},
                             {b"a\tb\\": b"x", b"y": b"x,z"})

    def test_errors(self):
        path = os.path.join(self.dir.name, "in.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("x\n")
        with self.assertRaises(quarry.jobs.JobError) as e:
            quarry.jobs.run(mapper=broken, inputs=["file:" + path],
                            outputs=["file:" + self.out], target=self.target,
                            python=PYTHON, options=SANDBOX + ["--no-skip"])
        self.assertIn("broken on purpose", str(e.exception))
        with self.assertRaises(ValueError):
            quarry.jobs.run(mapper=lambda line: [], inputs=["file:x"],
                            outputs=["file:y"])

    def test_fields(self):
        """Escaping gives back what it was given."""
        for field in (b"", b"a", b"\t\n\r\\", b"\\t", b"\\\\n", b"\xff\x00"):
            self.assertEqual(task_runner.unescape(task_runner.escape(field)),
                             field)
            self.assertNotIn(b"\t", task_runner.escape(field))
            self.assertNotIn(b"\n", task_runner.escape(field))
        self.assertEqual(task_runner.unescape(b"end\\"), b"end\\")


class Server(unittest.TestCase):
    def test_serves(self):
        with quarry.bigtable.serve() as server:
            host, port = server.address.split(":")
            with socket.create_connection((host, int(port)), 10) as s:
                s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                          b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
                self.assertEqual(s.recv(9)[3:4], b"\x04")  # Its SETTINGS.
            data = server.data
            self.assertTrue(os.path.isdir(data))
        self.assertFalse(os.path.exists(data))

    def test_command(self):
        run = subprocess.run(
            [sys.executable, "-m", "quarry.bigtable", sys.executable, "-c",
             "import os; print(os.environ['BIGTABLE_EMULATOR_HOST'])"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        self.assertRegex(run.stdout.decode(), r"^127\.0\.0\.1:\d+\n$")


# The Python of tasks: one that they see (docs/jobs.md, the cage).
PYTHON = os.environ.get("QUARRY_TEST_PYTHON", "/usr/bin/python3")
SANDBOX = os.environ.get("QUARRY_TEST_SANDBOX", "").split()

if __name__ == "__main__":
    unittest.main()

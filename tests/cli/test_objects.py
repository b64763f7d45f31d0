"""Files in buckets of S3 (s3://) and of web servers: against a strict server
that also breaks connections, refuses, cuts and loses answers."""

import functools
import http.server
import json
import os
import random
import sys
import threading
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "lib"))
import fake_s3  # noqa: E402

BIG = 20 << 20  # Three parts.


class ObjectsTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.s3 = fake_s3.FakeS3()
        self.s3.__enter__()
        self.addCleanup(self.s3.__exit__)
        self.env.update(self.s3.env())
        self.bucket = self.s3.objects["bucket"]
        if b"built without" in self.run_quarry("fs", "ls",
                                               "s3://bucket").stderr:
            print("SKIPPED: this quarry was built without libcurl", flush=True)
            self.skipTest("without libcurl")

    def put(self, key, body):
        self.bucket[key] = fake_s3.Object(body)

    def names(self, *args):
        return [row["path"] for row in self.json("fs", "ls", *args)]


class Names(ObjectsTest):
    def test_a_file_comes_back(self):
        """Any key, small and in parts, with the mark of who made it."""
        big = random.Random(1).randbytes(BIG)
        self.write("small", "hello\n")
        self.write("big", big)
        self.write("empty", "")
        odd = "s3://bucket/d/a b+c%41&=ü~$'()"
        self.ok("fs", "put", "small", odd)
        self.ok("fs", "put", "big", "s3://bucket/d/big")
        self.ok("fs", "put", "empty", "s3://bucket/empty")
        self.assertEqual(self.bucket[odd[len("s3://bucket/"):]].body,
                         b"hello\n")
        self.assertEqual(self.bucket["d/big"].body, big)
        self.assertFalse(self.s3.uploads)
        self.assertEqual(self.ok("fs", "cat", odd), "hello\n")
        self.ok("fs", "get", "s3://bucket/d/big", "back")
        with open(self.path("back"), "rb") as f:
            self.assertEqual(f.read(), big)
        done = self.run_quarry("fs", "tail", "-c", "100", "s3://bucket/d/big")
        self.assertEqual(done.stdout, big[-100:])
        self.assertEqual(self.ok("fs", "cat", "s3://bucket/empty"), "")
        self.assertIn("exists already", self.fails(
            1, "fs", "put", "small", "s3://bucket/d/big"))
        self.ok("fs", "put", "-f", "small", "s3://bucket/d/big")
        self.assertEqual(self.bucket["d/big"].body, b"hello\n")

    def test_lists(self):
        """Pages, directories, patterns; and names as the user wrote them."""
        self.s3.page = 3
        for i in range(10):
            self.put("logs/%d.txt" % i, b"x" * i)
            self.put("logs/deep/%d/y" % i, b"y")
        self.put("logs/", b"")  # The mark of a directory.
        self.put("top", b"")
        self.assertEqual(self.names("s3://bucket"),
                         ["s3://bucket/logs", "s3://bucket/top"])
        self.assertEqual(self.names("s3://bucket/logs/"),
                         ["s3://bucket/logs/%d.txt" % i for i in range(10)] +
                         ["s3://bucket/logs/deep"])
        self.assertEqual(len(self.names("-R", "s3://bucket/logs")), 31)
        self.assertEqual(self.names("s3://bucket/l*/[12].txt"),
                         ["s3://bucket/logs/1.txt", "s3://bucket/logs/2.txt"])
        self.assertEqual(self.json("fs", "du", "s3://bucket/logs")[-1]["bytes"],
                         55)
        self.ok("fs", "mv", "s3://bucket/top", "s3://bucket/new/name")
        self.assertIn("new/name", self.bucket)
        self.assertNotIn("top", self.bucket)
        self.ok("fs", "rm", "-r", "s3://bucket/logs")
        self.assertEqual(sorted(self.bucket), ["new/name"])
        self.fails(1, "fs", "ls", "s3://bucket/logs")

    def test_what_is_refused(self):
        """Errors say what failed, where, and what to do."""
        self.assertIn("NoSuchBucket", self.fails(1, "fs", "ls", "s3://other"))
        self.assertIn("s3://bucket/x: not there",
                      self.fails(1, "fs", "cat", "s3://bucket/x"))
        self.assertIn("not s3://BUCKET/KEY", self.fails(1, "fs", "ls", "s3://"))
        self.assertIn("different file systems", self.fails(
            2, "fs", "cp", "s3://bucket/a", "/b"))
        self.assertIn("different file systems", self.fails(
            2, "fs", "ls", "s3://bucket/a", "s3://other/b"))
        self.assertIn("not a cluster's", self.fails(
            1, "fs", "setrep", "2", "s3://bucket/a"))
        self.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
        message = self.fails(1, "fs", "ls", "s3://bucket")
        self.assertIn("SignatureDoesNotMatch", message)
        self.assertIn("AWS_SECRET_ACCESS_KEY", message)
        del self.env["AWS_SECRET_ACCESS_KEY"]
        self.assertIn("AWS_ACCESS_KEY_ID",
                      self.fails(1, "fs", "ls", "s3://bucket"))

    def test_region_and_keys(self):
        """A region that the server corrects; keys of a command."""
        self.s3.region = "eu-west-3"
        self.put("a", b"1")
        self.assertEqual(self.names("s3://bucket"), ["s3://bucket/a"])
        os.mkdir(self.path(".aws"))
        self.write(".aws/config", "[profile p]\ncredential_process = cat %s\n" %
                   self.path("keys"))
        self.write("keys", json.dumps({
            "Version": 1, "AccessKeyId": fake_s3.ACCESS,
            "SecretAccessKey": fake_s3.SECRET}))
        del self.env["AWS_ACCESS_KEY_ID"]
        self.env["AWS_PROFILE"] = "p"
        self.assertEqual(self.ok("fs", "cat", "s3://bucket/a"), "1")


class Faults(ObjectsTest):
    def met(self):
        self.assertEqual(self.s3.left(), [])

    def test_reading_repeats_what_fails(self):
        big = random.Random(2).randbytes(BIG)
        self.put("big", big)
        for kind in ("500", "503", "reset", "cut", "delay", "lost"):
            self.s3.fail(kind, method="GET", has="big")
        self.s3.fail("reset", method="HEAD")
        self.s3.fail("delay", has="list-type")
        self.s3.fail("503", has="list-type")
        self.assertEqual(self.run_quarry("fs", "cat", "s3://bucket/big").stdout,
                         big)
        for _ in range(2):
            self.assertEqual(self.names("s3://bucket"), ["s3://bucket/big"])
        self.met()

    def test_a_short_answer_is_an_error(self):
        self.put("big", b"x" * 1000)
        self.s3.fail("short", method="GET", has="big", times=20)
        self.assertIn("the server sent", self.fails(
            1, "fs", "cat", "s3://bucket/big"))

    def test_writing_repeats_what_fails(self):
        big = random.Random(3).randbytes(BIG)
        self.write("big", big)
        self.s3.fail("503", has="uploads")
        self.s3.fail("reset", has="partNumber=1")
        self.s3.fail("BadDigest", has="partNumber=2")
        self.s3.fail("lost", has="partNumber=3")
        self.ok("fs", "put", "big", "s3://bucket/big")
        self.assertEqual(self.bucket["big"].body, big)
        self.met()

    def test_a_lost_answer_is_not_taken_for_anothers(self):
        """The object was made, the answer lost: the next try finds it there,
        and knows it by its mark."""
        self.write("small", "mine")
        self.write("big", b"m" * BIG)
        self.s3.fail("lost", method="PUT", has="small")
        self.s3.fail("lost", method="POST", has="uploadId")
        self.ok("fs", "put", "small", "s3://bucket/small")
        self.ok("fs", "put", "big", "s3://bucket/big")
        self.assertEqual(self.bucket["small"].body, b"mine")
        self.assertEqual(len(self.bucket["big"].body), BIG)
        self.met()

    def test_a_failed_upload_leaves_nothing(self):
        self.write("big", b"m" * BIG)
        self.env["AWS_MAX_ATTEMPTS"] = "2"
        self.s3.fail("500", has="partNumber=2", times=2)
        self.assertIn("after 2 tries: s3://bucket/big: InternalError",
                      self.fails(1, "fs", "put", "big", "s3://bucket/big"))
        self.assertFalse(self.bucket)
        self.assertFalse(self.s3.uploads)


class Web(ObjectsTest):
    def serve(self, handler):
        server = fake_s3.Server(
            ("127.0.0.1", 0), functools.partial(handler, directory=self.dir))
        thread = threading.Thread(target=server.serve_forever,
                                  kwargs={"poll_interval": 0.05})
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return "http://127.0.0.1:%d" % server.server_address[1]

    def test_a_server_without_ranges(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *args):
                pass

        text = random.Random(4).randbytes(9 << 20)
        self.write("file", text)
        url = self.serve(Quiet)
        self.assertEqual(self.run_quarry("fs", "cat", url + "/file").stdout,
                         text)
        self.assertIn("read, not", self.fails(1, "fs", "put", "file",
                                              url + "/x"))
        self.assertIn("read, not", self.fails(1, "fs", "rm", url + "/file"))


if __name__ == "__main__":
    unittest.main()

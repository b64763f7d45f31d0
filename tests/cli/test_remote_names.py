"""Names of buckets stand wherever a file's name does: in imports, exports,
loads, programs over files, and inputs and outputs of jobs of a directory."""

import gzip
import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "lib"))
import fake_s3  # noqa: E402


class RemoteNames(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.embedded_only("files of a cluster's jobs are the cluster's")
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

    def rows(self, table):
        return [row["row"] for row in self.json("scan", table)]

    def test_import(self):
        """One file, a pattern, a directory; packed; by a server that fails."""
        for i in range(4):
            text = "id,name\n%d,n%d\n" % (i, i)
            self.put("in/%d.csv.gz" % i, gzip.compress(text.encode()))
        self.put("in/deep/4.csv", b"id,name\n4,n4\n")
        self.put("in/_left", b"\0\1\2")
        self.s3.fail("500", method="GET", has="0.csv")
        self.s3.fail("cut", method="GET", has="1.csv")
        want = ("--into", "t", "--key", "id")
        self.ok("import", "csv", "s3://bucket/in/[01].csv.gz", *want)
        self.assertEqual(self.rows("t"), ["0", "1"])
        self.ok("import", "s3://bucket/in/", "--into", "t", "--key", "id")
        self.assertEqual(self.rows("t"), ["0", "1", "2", "3", "4"])
        self.assertIn("no file matches", self.fails(
            1, "import", "csv", "s3://bucket/in/x*", *want))
        self.assertIn("not there", self.fails(
            1, "import", "csv", "s3://bucket/none.csv", *want))

    def test_export_and_load(self):
        """A table exported to a bucket is loaded from it; a failed export
        leaves nothing."""
        self.table("t")
        self.table("u")
        for i in range(20):
            self.ok("put", "t", "r%02d" % i, "f:q=%d" % i)
        for name in ("t.tsv", "t.json.gz", "t.records"):
            self.ok("export", "t", "s3://bucket/out/" + name)
        self.ok("export", "t", "s3://bucket/parts/p.tsv", "--split", "3")
        self.assertEqual(len([k for k in self.bucket
                              if k.startswith("parts/")]), 3)
        self.ok("load", "u", "s3://bucket/out/t.tsv")
        self.assertEqual(self.ok("scan", "u"), self.ok("scan", "t"))
        self.ok("table", "drop", "u")
        self.table("u")
        self.ok("import", "s3://bucket/out/t.records", "--into", "u")
        self.assertEqual(self.ok("scan", "u"), self.ok("scan", "t"))
        self.env["AWS_MAX_ATTEMPTS"] = "2"
        self.s3.fail("500", method="PUT", has="broken", times=4)
        self.assertIn("InternalError", self.fails(
            1, "export", "t", "s3://bucket/broken.tsv"))
        self.assertNotIn("broken.tsv", self.bucket)

    def test_programs_over_files(self):
        """In ranges, by several threads."""
        lines = "".join("line %d\n" % i for i in range(200000))
        self.put("text", lines.encode())
        count = ("-e", "n: table sum of int; emit n <- 1;")
        self.assertIn("200000", self.ok("saw", *count, "s3://bucket/text"))
        self.assertIn("line 7", self.ok(
            "saw", "-e", "before: string = string(input);"
            "out: table collection of string;"
            "if (before == \"line 7\") emit out <- before;",
            "s3://bucket/text"))
        self.fails(1, "saw", *count, "s3://bucket/none")

    def test_jobs(self):
        """Inputs of a job of a directory; what it makes is refused there,
        with what to do."""
        for i in range(3):
            self.put("in/%d.txt" % i, b"b a\nc a\n" * (i + 1))
        self.ok("job", "run", "word_count", "--input",
                "file:s3://bucket/in/*.txt", "--output", "file:out",
                "--network")
        text = b""
        for name in os.listdir(self.path("out")):
            if name.startswith("part-"):
                with open(self.path("out/" + name), "rb") as f:
                    text += f.read()
        self.assertEqual(sorted(text.split(b"\n")),
                         [b"", b"a\t12", b"b\t6", b"c\t6"])
        self.assertIn("--network", self.fails(
            2, "job", "run", "word_count", "--input",
            "file:s3://bucket/in/*.txt", "--output", "file:there"))
        self.fails(1, "job", "run", "word_count", "--input",
                   "file:s3://bucket/none/*", "--output", "file:there",
                   "--network")
        self.assertIn("quarry fs put", self.fails(
            2, "job", "run", "word_count", "--input",
            "file:s3://bucket/in/*.txt", "--output", "file:s3://bucket/out"))


if __name__ == "__main__":
    unittest.main()

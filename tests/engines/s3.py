"""Files in a bucket of a real server of S3: s3proxy or Ceph's gateway, started
here, or the bucket $QUARRY_TEST_S3.

    python3 tests/engines/s3.py QUARRY S3PROXY_DIRECTORY [unittest arguments]
    python3 tests/engines/s3.py QUARRY radosgw [unittest arguments]
"""

import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

S3PROXY = sys.argv.pop(2)
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import harness  # noqa: E402

import store_suite  # noqa: E402
from ceph import KEYS, Ceph  # noqa: E402

store_suite.StoreTest.suite_program = store_suite.program(harness.QUARRY)

SETTINGS = """
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity=AKIDTEST
s3proxy.credential=a-secret
s3proxy.endpoint=http://127.0.0.1:%d
jclouds.provider=filesystem-nio2
jclouds.identity=none
jclouds.credential=none
jclouds.filesystem.basedir=%s
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_s3proxy(at):
    port = free_port()
    os.makedirs(os.path.join(at, "data", "bucket"))
    conf = os.path.join(at, "conf")
    with open(conf, "w") as f:
        f.write(SETTINGS % (port, os.path.join(at, "data")))
    with open(os.path.join(at, "log"), "w") as log:
        server = subprocess.Popen(
            ["java", "-Xmx512m", "-DLOG_LEVEL=warn", "-cp",
             os.path.join(S3PROXY, "lib", "*"), "org.gaul.s3proxy.Main",
             "--properties", conf], stdout=log, stderr=log)
    unittest.addModuleCleanup(server.wait)
    unittest.addModuleCleanup(server.kill)
    url = "http://127.0.0.1:%d" % port
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.build_opener(
                urllib.request.ProxyHandler({})).open(url).close()
            return url
        except urllib.error.HTTPError:
            return url
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def start_radosgw(at):
    ceph = Ceph(at)
    unittest.addModuleCleanup(ceph.end)
    ceph.start()
    ceph.start_gateway()
    ceph.bucket("bucket")
    return ceph.gateway


def setUpModule():
    global bucket, env
    bucket, env = os.environ.get("QUARRY_TEST_S3"), {}
    if bucket:
        bucket += "/quarry-test"
        return
    scratch = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(scratch.cleanup)
    start = start_radosgw if S3PROXY == "radosgw" else start_s3proxy
    bucket = "s3://bucket/quarry-test"
    env = {"AWS_ENDPOINT_URL": start(scratch.name),
           "AWS_ACCESS_KEY_ID": KEYS[0],
           "AWS_SECRET_ACCESS_KEY": KEYS[1], "no_proxy": "127.0.0.1"}


class Files(store_suite.StoreTest):
    def test_promises(self):
        # s3proxy's files ignore If-None-Match: several may publish one.
        ignores = env and S3PROXY != "radosgw"
        without = {"FS_SUITE_WITHOUT": "128"} if ignores else {}
        self.suite(dict(env, **without), bucket + "/suite", "all")

    def test_faults(self):
        if not env:
            self.skipTest("the bucket of another server")
        port = int(env["AWS_ENDPOINT_URL"].rsplit(":", 1)[1])
        with store_suite.FaultProxy(("127.0.0.1", port), 11, 0.3) as proxy:
            text = self.suite(
                dict(env, AWS_MAX_ATTEMPTS="4",
                     QUIET_AWS_ENDPOINT_URL=env["AWS_ENDPOINT_URL"],
                     AWS_ENDPOINT_URL="http://127.0.0.1:%d" % proxy.port),
                bucket + "/storm", "faults", 200, 5, bucket + "/storm")
            self.report(text, proxy)


class S3Test(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.env.update(env)
        self.run_quarry("fs", "rm", "-r", bucket)

    def names(self, *args):
        return [row["path"] for row in self.json("fs", "ls", *args)]

    def test_files(self):
        """Small and in parts, replaced, renamed, listed, removed."""
        big = random.Random(1).randbytes(40 << 20)
        self.write("small", "hello\n")
        self.write("big", big)
        odd = bucket + "/d/a b+c%41&=ü~'()"
        self.ok("fs", "put", "small", odd)
        self.ok("fs", "put", "big", bucket + "/d/big")
        self.assertEqual(self.ok("fs", "cat", odd), "hello\n")
        self.ok("fs", "get", bucket + "/d/big", "back")
        with open(self.path("back"), "rb") as f:
            self.assertEqual(f.read(), big)
        done = self.run_quarry("fs", "tail", "-c", "99", bucket + "/d/big")
        self.assertEqual(done.stdout, big[-99:])
        self.fails(1, "fs", "put", "small", bucket + "/d/big")
        self.ok("fs", "put", "-f", "small", bucket + "/d/big")
        self.assertEqual(self.ok("fs", "cat", bucket + "/d/big"), "hello\n")
        self.ok("fs", "mv", bucket + "/d/big", bucket + "/e/big")
        self.assertEqual(sorted(self.names("-R", bucket)), sorted(
            [bucket + "/d", odd, bucket + "/e", bucket + "/e/big"]))
        self.ok("fs", "rm", "-r", bucket + "/d")
        self.assertEqual(self.names(bucket), [bucket + "/e"])

    def test_backups(self):
        """Tables go to the bucket and come back; a name is taken once, and
        files go with the last backup that needs them."""
        self.table("t")
        with open(self.path("rows.tsv"), "w") as f:
            for i in range(400):
                f.write("r%04d\tf:q\t1\t%s\n" % (
                    i, random.Random(i).randbytes(30000).hex()))
        self.ok("load", "t", "rows.tsv")
        place = bucket + "/backups"
        self.ok("backup", "create", place, "one")
        self.assertIn("sent 0 files", self.ok("backup", "create", place, "two"))
        self.assertIn("exists already", self.fails(
            1, "backup", "create", place, "one"))
        self.ok("backup", "verify", place)
        self.ok("backup", "restore", place, "two", "-t", "t=again")
        self.assertEqual(self.ok("scan", "again"), self.ok("scan", "t"))
        self.ok("backup", "drop", place, "one")
        self.ok("backup", "verify", place, "two")
        self.ok("backup", "drop", place, "two")
        self.assertIn("not there", self.fails(1, "fs", "ls", "-R", bucket))

    def test_names_everywhere(self):
        """Exports, loads and imports by names of the bucket."""
        self.table("t")
        for i in range(5):
            self.ok("put", "t", "r%d" % i, "f:q=%d" % i)
        self.ok("export", "t", bucket + "/t.tsv")
        self.table("u")
        self.ok("load", "u", bucket + "/t.tsv")
        self.assertEqual(self.ok("scan", "u"), self.ok("scan", "t"))
        self.ok("import", bucket + "/*.tsv", "--into", "v")
        self.assertEqual(self.ok("scan", "v"), self.ok("scan", "t"))

    def test_refusals(self):
        self.assertIn("not there", self.fails(1, "fs", "cat", bucket + "/x"))
        self.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
        self.assertIn("SignatureDoesNotMatch", self.fails(
            1, "fs", "ls", bucket[:-len("/quarry-test")]))


if __name__ == "__main__":
    unittest.main()

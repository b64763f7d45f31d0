"""Files in a real HDFS, whose namenode and datanode are started here.

    python3 tests/engines/hdfs.py QUARRY HADOOP_DIRECTORY [unittest arguments]

HADOOP_DIRECTORY/lib has the jars (scripts/test_engines fetches them).
$QUARRY_TEST_HDFS, if it is set, is another one, hdfs://HOST:PORT/DIRECTORY, whose
directory is emptied; faults are then left out.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

HADOOP = os.path.abspath(sys.argv.pop(2))
import store_suite  # noqa: E402
from lock_services import free_ports  # noqa: E402
from store_suite import ROOT, FaultProxy  # noqa: E402

sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import harness  # noqa: E402

store_suite.StoreTest.suite_program = store_suite.program(harness.QUARRY)

LOG = """log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c: %m%n
"""


class Hdfs:
    """A namenode and a datanode below @at."""

    def __init__(self, at):
        self.at = at
        ports = free_ports(5)
        self.rpc, self.namenode, self.datanode = ports[:3]
        self.processes = {}
        os.makedirs(os.path.join(at, "conf"))
        self.write("log4j.properties", LOG)
        self.write("core-site.xml", self.xml({
            "fs.defaultFS": "hdfs://127.0.0.1:%d" % self.rpc,
            "hadoop.tmp.dir": os.path.join(at, "tmp")}))
        self.write("hdfs-site.xml", self.xml({
            "dfs.namenode.http-address": "127.0.0.1:%d" % self.namenode,
            "dfs.datanode.http.address": "127.0.0.1:%d" % self.datanode,
            "dfs.datanode.address": "127.0.0.1:%d" % ports[3],
            "dfs.datanode.ipc.address": "127.0.0.1:%d" % ports[4],
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.namenode.name.dir": os.path.join(at, "name"),
            "dfs.datanode.data.dir": os.path.join(at, "data"),
            "dfs.replication": 1, "dfs.ls.limit": 100}))
        self.run("org.apache.hadoop.hdfs.server.namenode.NameNode", "-format",
                 "-force").wait()

    def write(self, name, text):
        with open(os.path.join(self.at, "conf", name), "w") as f:
            f.write(text)

    @staticmethod
    def xml(settings):
        return "<configuration>%s</configuration>" % "".join(
            "<property><name>%s</name><value>%s</value></property>" % s
            for s in settings.items())

    def run(self, name, *words):
        with open(os.path.join(self.at, name.split(".")[-1] + ".log"),
                  "a") as log:
            return subprocess.Popen(
                ["java", "-Xmx256m", "-cp", "%s/conf:%s/lib/*" % (
                    self.at, HADOOP), name] + list(words),
                stdout=log, stderr=log)

    def start(self):
        for kind in ("namenode.NameNode", "datanode.DataNode"):
            if kind not in self.processes:
                self.processes[kind] = self.run(
                    "org.apache.hadoop.hdfs.server." + kind)
        self.wait()

    def end(self, kinds=None):
        for kind in kinds or list(self.processes):
            p = self.processes.pop(kind)
            p.send_signal(signal.SIGKILL)
            p.wait()

    def ask(self, method, path, query):
        url = "http://127.0.0.1:%d/webhdfs/v1%s?user.name=root&%s" % (
            self.namenode, path, query)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(urllib.request.Request(url, method=method)).close()

    def live(self):
        url = "http://127.0.0.1:%d/jmx?qry=Hadoop:service=NameNode," \
            "name=FSNamesystemState" % self.namenode
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url) as f:
            return json.load(f)["beans"][0]["NumLiveDataNodes"]

    def wait(self):
        deadline = time.monotonic() + 120
        while True:
            try:
                if self.live() > 0:
                    self.ask("PUT", "/t", "op=MKDIRS")
                    self.ask("PUT", "/t", "op=SETPERMISSION&permission=777")
                    return
            except (OSError, ValueError, KeyError, IndexError,
                    urllib.error.URLError):
                pass
            if time.monotonic() > deadline:
                raise TimeoutError("HDFS does not start")
            time.sleep(0.3)


def setUpModule():
    global hdfs, place
    hdfs, place = None, os.environ.get("QUARRY_TEST_HDFS")
    if place:
        return
    scratch = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(scratch.cleanup)
    hdfs = Hdfs(scratch.name)
    unittest.addModuleCleanup(hdfs.end)
    hdfs.start()
    place = "hdfs://127.0.0.1:%d/t" % hdfs.namenode


ENV = {"HADOOP_USER_NAME": "quarry", "FS_SUITE_ENTRIES": "250"}


class Files(store_suite.StoreTest):
    def test_promises(self):
        self.suite(ENV, place + "/suite", "all")

    def storm(self, steps, seed, rate, kinds=store_suite.KINDS):
        if not hdfs:
            self.skipTest("another HDFS")
        bytes_proxy = FaultProxy(("127.0.0.1", hdfs.datanode), seed, rate,
                                 kinds)
        with bytes_proxy:
            rewrite = {"127.0.0.1:%d" % hdfs.datanode:
                       "127.0.0.1:%d" % bytes_proxy.port}
            names_proxy = FaultProxy(("127.0.0.1", hdfs.namenode), seed + 1,
                                     rate, kinds, rewrite)
            with names_proxy:
                text = self.suite(
                    dict(ENV, QUARRY_HDFS_ATTEMPTS="4"),
                    "hdfs://127.0.0.1:%d/t/storm" % names_proxy.port,
                    "faults", steps, seed, place + "/storm")
            self.report(text, names_proxy, bytes_proxy)

    def test_faults(self):
        self.storm(200, 1, 0.2)

    def test_more_faults(self):
        self.storm(200, 2, 0.4)

    def test_restart_of_the_namenode(self):
        """Calls fail soon while it is down, and succeed afterwards."""
        if not hdfs:
            self.skipTest("another HDFS")
        self.addCleanup(hdfs.start)
        hdfs.end(["namenode.NameNode"])
        begin = time.monotonic()
        with self.assertRaises(AssertionError) as failed:
            self.suite(dict(ENV, QUARRY_HDFS_ATTEMPTS="2"), place + "/down",
                       "all")
        self.assertIn("connect", str(failed.exception))
        self.assertLess(time.monotonic() - begin, 60)
        hdfs.start()
        time.sleep(5)
        self.suite(ENV, place + "/up", "faults", 50, 3, place + "/up")


class Commands(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.env.update(ENV, no_proxy="127.0.0.1")
        self.place = place + "/commands"
        self.run_quarry("fs", "rm", "-r", self.place)

    def test_files(self):
        big = random.Random(1).randbytes(40 << 20)
        self.write("big", big)
        self.ok("fs", "put", "big", self.place + "/d/big")
        self.ok("fs", "get", self.place + "/d/big", "back")
        with open(self.path("back"), "rb") as f:
            self.assertEqual(f.read(), big)
        self.assertIn("exists already", self.fails(
            1, "fs", "put", "big", self.place + "/d/big"))
        self.ok("fs", "mv", self.place + "/d/big", self.place + "/d/new")
        self.assertEqual([row["path"] for row in self.json(
            "fs", "ls", self.place + "/d")], [self.place + "/d/new"])

    def test_tables_go_and_come(self):
        """Exports, imports and backups by names of HDFS."""
        self.table("t")
        for i in range(5):
            self.ok("put", "t", "r%d" % i, "f:q=%d" % i)
        self.ok("export", "t", self.place + "/t.tsv")
        self.ok("import", self.place + "/*.tsv", "--into", "v")
        self.assertEqual(self.ok("scan", "v"), self.ok("scan", "t"))
        self.ok("backup", "create", self.place + "/backups", "one")
        self.ok("backup", "verify", self.place + "/backups")
        self.ok("backup", "restore", self.place + "/backups", "one", "-t",
                "t=again")
        self.assertEqual(self.ok("scan", "again"), self.ok("scan", "t"))

    def test_refusals(self):
        self.assertIn("FileNotFound", self.fails(1, "fs", "cat",
                                                 self.place + "/x"))
        self.assertIn("colons", self.fails(1, "fs", "cat", self.place + "/a:b"))
        self.write("x", "x")
        self.env["HADOOP_USER_NAME"] = "stranger"
        self.assertIn("AccessControl", self.fails(
            1, "fs", "put", "x", "hdfs://%s/x" % place.split("/")[2]))


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""Kept materialized views of the public API: the server's CPU time for reading
one, beside executing its query (which is how one is read in the reverse order),
and for a changed row, beside the same write to a table without a view. One
server over a directory.

    views.py QUARRY [ROWS]
"""

import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
QUARRY = os.path.abspath(sys.argv[1])
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
sys.argv[1:] = []

from grpc import Caller, field  # noqa: E402
from ports import free_ports  # noqa: E402

DATA = "/google.bigtable.v2.Bigtable/"
TABLES = "/google.bigtable.admin.v2.BigtableTableAdmin/"
INSTANCES = "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
INSTANCE = b"projects/p/instances/quarry"
# A reply of this many rows fits the first window of a connection, and a batch a
# frame: the caller here knows no flow control.
GROUPS = 300
BATCH = 100
QUERY = b"SELECT f['g'] AS g, COUNT(*) AS rows, " \
    b"SUM(CAST(CAST(f['n'] AS STRING) AS INT64)) AS total FROM t GROUP BY g"
EXTREMES = b"SELECT f['g'] AS g, MAX(f['n']) AS best FROM t GROUP BY g"


class Server:
    def __init__(self, top):
        ports = free_ports(2)
        self.api = "127.0.0.1:%d" % ports[0]
        self.log = os.path.join(top, "log")
        self.process = subprocess.Popen(
            [QUARRY, "server", "--data", os.path.join(top, "data"), "--roles",
             "gateway", "--listen", "127.0.0.1:%d" % ports[1],
             "--bigtable-api", self.api, "--log", self.log],
            stdout=subprocess.PIPE)
        self.process.stdout.readline()
        while True:
            try:
                Caller(self.api).close()
                break
            except OSError:
                time.sleep(0.1)

    def cpu(self):
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def call(self, method, message):
        caller = Caller(self.api, seconds=600)
        status, reply = caller.call(method, message)
        caller.close()
        if status:
            raise SystemExit("%s: status %d" % (method, status))
        return reply

    def create(self, table):
        rule = field(1, field(1, 1))
        self.call(TABLES + "CreateTable", field(1, INSTANCE) + field(2, table) +
                  field(3, field(3, field(1, b"f") + field(2, rule))))

    def view(self, name, query):
        self.call(INSTANCES + "CreateMaterializedView",
                  field(1, INSTANCE) + field(2, name) +
                  field(3, field(2, query)))

    def write(self, table, rows, seed):
        for at in range(0, len(rows), BATCH):
            message = field(1, INSTANCE + b"/tables/" + table)
            for n in rows[at:at + BATCH]:
                message += field(2, field(1, b"r%08d" % n) +
                                 self.changes(n, seed))
            self.call(DATA + "MutateRows", message)

    @staticmethod
    def changes(n, seed):
        """The mutations of an entry: as those of MutateRow, in field 2."""
        out = b""
        for qualifier, value in ((b"g", b"g%04d" % (n * 7 % GROUPS)),
                                 (b"n", b"%d" % (n * seed % 99991))):
            mutation = field(1, field(1, b"f") + field(2, qualifier) +
                             field(3, 2**64 - 1) + field(4, value))
            out += field(2, mutation)
        return out

    def read(self, name, backwards, times, key=None):
        message = field(11, INSTANCE + b"/materializedViews/" + name)
        if backwards:
            message += field(7, 1)
        if key:
            message += field(2, field(1, key))
        begin = self.cpu()
        for _ in range(times):
            self.call(DATA + "ReadRows", message)
        return (self.cpu() - begin) / times

    def settle(self):
        """Until the server rests."""
        quiet = 0
        last = self.cpu()
        while quiet < 6:
            time.sleep(0.5)
            now = self.cpu()
            quiet = quiet + 1 if now - last < 0.03 else 0
            last = now


def report(what, value, unit, peer=None):
    print("%s\t%.3f\t%s\t%s\t%s" % (
        what, value, "%.3f" % peer if peer else "",
        "%.1f" % (peer / value) if peer else "", unit))


def upkeep(server, table, changed):
    """CPU µs of a changed row."""
    server.settle()
    begin = server.cpu()
    server.write(table, changed, 31)
    server.settle()
    return (server.cpu() - begin) / len(changed) * 1e6


def main():
    with tempfile.TemporaryDirectory() as top:
        server = Server(top)
        for table in (b"plain", b"t"):
            server.create(table)
            server.write(table, list(range(ROWS)), 17)
        changed = list(range(0, ROWS, 5))
        plain = upkeep(server, b"plain", changed)
        server.view(b"v", QUERY)
        while "view/v " not in open(server.log).read():
            time.sleep(0.2)
        one = upkeep(server, b"t", changed)
        kept = sorted(server.read(b"v", False, 20) for _ in range(3))[1]
        executed = sorted(server.read(b"v", True, 3) for _ in range(3))[1]
        point = sorted(server.read(b"v", False, 200, b"g0123")
                       for _ in range(3))[1]
        report("read of a view of %d groups, ms" % GROUPS, kept * 1e3, "ms",
               executed * 1e3)
        report("read of one row of it, ms", point * 1e3, "ms", executed * 1e3)
        report("upkeep of a changed row, us", one - plain, "us")
        report("write of a row without a view, us", plain, "us")
        server.view(b"m", EXTREMES)
        while "view/m " not in open(server.log).read():
            time.sleep(0.2)
        both = upkeep(server, b"t", changed)
        report("the same of a maximum, us", both - one, "us")
        server.process.terminate()
        server.process.wait()


main()

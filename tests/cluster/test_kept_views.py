"""Materialized views of the public API that are kept up to date: after random
writes, deletions and expiries, what ReadRows gives of a view is what executing
its query gives, which is how a view is read in the reverse order. Over a
directory and a cluster, whose maintainers are killed."""

import os
import random
import subprocess
import time

from grpc import Caller, Refused, field
from processes import QUARRY, SECONDS, ClusterTest, free_ports, main
from test_sql import LIBRARY

DATA = "/google.bigtable.v2.Bigtable/"
TABLES = "/google.bigtable.admin.v2.BigtableTableAdmin/"
INSTANCES = "/google.bigtable.admin.v2.BigtableInstanceAdmin/"
INSTANCE = b"projects/p/instances/quarry"
TABLE = INSTANCE + b"/tables/t"
OK, NOT_FOUND, FAILED_PRECONDITION = 0, 5, 9
ROLES = "lock, namenode, chunk, tablet, master, follow, gateway"
HASTY = "[tablet]\nlease = 3s\n[master]\nlease = 3s\n" \
    "[namenode]\nserver-dead = 3s\n[chunk]\nheartbeat = 500ms\n"
SEED = int(os.environ.get("QUARRY_SEED", "5"))

N = "SAFE_CAST(SAFE_CONVERT_BYTES_TO_STRING(f['n']) AS INT64)"
W = "SAFE_CONVERT_BYTES_TO_STRING(f['w'])"
KEYS = [
    ["_key"],
    ["'*' AS _key"],
    ["SUBSTR(_key, 1, 2) AS _key"],
    [W + " AS word"],
    [N + " AS n", "f['w'] IS NULL AS absent"],
    ["LENGTH(f['w']) AS length", W + " AS word"],
    ["SPLIT(" + W + ", 'a')[SAFE_OFFSET(1)] AS part"],
    ["IFNULL(f['w'], b'none') AS w", "MOD(" + N + ", 3) AS rest"],
    ["CASE WHEN " + N + " > 5 THEN 'large' WHEN " + N + " < 0 THEN 'small' "
     "ELSE " + W + " END AS size"],
    ["TIMESTAMP_TRUNC(TIMESTAMP_SECONDS(" + N + " * 1000), HOUR) AS hour"],
    ["NULLIF(LOWER(" + W + "), 'b') AS lower"],
]
VALUES = [
    "COUNT(*)", "COUNT(f['w'])", "COUNT(e['x'])", "SUM(" + N + ")",
    "AVG(" + N + ")", "MIN(f['w'])", "MAX(f['w'])", "MIN(" + N + ")",
    "MAX(-" + N + ")", "COUNTIF(" + N + " > 3)", "MAX(UPPER(" + W + "))",
    "SUM(CAST(" + N + " AS FLOAT64) * 0.5)", "LOGICAL_OR(" + N + " > 9)",
    "AVG(CAST(" + N + " AS FLOAT64) / 4)", "MAX(CONCAT(" + W + ", '.'))",
    "LOGICAL_AND(STARTS_WITH(f['w'], b'a'))", "MAX(_key)", "SUM(s['c'])",
    "MIN(COALESCE(" + N + ", s['c'], 7))", "MAX(TIMESTAMP_SECONDS(" + N + "))",
]
WHERE = [
    "", "", N + " > 2", "f['w'] LIKE 'a%'", W + " LIKE '%_b'",
    N + " IN (1, 2, 31) OR f['n'] IS NULL", N + " BETWEEN -2 AND 9",
    "NOT (" + N + " < 5 AND e['x'] IS NOT NULL)", "ENDS_WITH(_key, b'3')",
    "REGEXP_CONTAINS(" + W + ", '^[a-c]+$')", "(f['w'] > b'b') IS NOT TRUE",
]
NUMBERS = [b"%d" % n for n in range(-3, 12)] + \
    [b" 7 ", b"+5", b"x", b"", b"0x1F", b"12.5", b"\xff", b"92233720"]
WORDS = [b"", b"a", b"b", b"ab", b"banana", b"\xc3\xa4b", b"\xff\xfe", b"Aa'\"",
         b"a\x01", b"ba", b"abcabc"]


def message_fields(data):
    """The fields of a message: numbers, and integers or bytes."""
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    at = 0
    while at < len(data):
        head = number()
        value = number()
        if head & 7 == 2:
            at += value
            value = data[at - value:at]
        yield head >> 3, value


class KeptViewsTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.env["QUARRY_DUCKDB"] = LIBRARY or ""
        if not LIBRARY or self.run_quarry("sql", "-c", "SELECT 1").returncode:
            self.skip("DuckDB is not here, or was not when quarry was built")
        self.chance = random.Random(SEED)
        self.queries = {}
        # DuckDB keeps what it made for the process.
        self.env["ASAN_OPTIONS"] = \
            os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"

    # --- the API ------------------------------------------------------------

    def call(self, method, message):
        """(status, the messages of the reply); waits for a server."""
        end = time.monotonic() + SECONDS
        while True:
            try:
                caller = Caller(self.chance_api())
                try:
                    status, reply = caller.call(method, message)
                finally:
                    caller.close()
                if status not in (4, 10, 13, 14) or time.monotonic() > end:
                    return status, self.messages(reply)
            except (Refused, OSError):
                if time.monotonic() > end:
                    raise
            time.sleep(0.2)

    def chance_api(self):
        return self.chance.choice(self.apis)

    @staticmethod
    def messages(reply):
        out = []
        while len(reply) >= 5:
            size = int.from_bytes(reply[1:5], "big")
            out.append(reply[5:5 + size])
            reply = reply[5 + size:]
        return out

    def create_table(self):
        rules = {b"f": field(1, 1), b"e": field(2, field(1, 2)), b"s": None}
        table = b""
        for name, rule in rules.items():
            family = field(1, rule) if rule else \
                field(3, field(6, field(1, field(5, b"")) +
                                field(4, b"")))
            table += field(3, field(1, name) + field(2, family))
        status, _ = self.call(TABLES + "CreateTable",
                              field(1, INSTANCE) + field(2, b"t") +
                              field(3, table))
        self.assertIn(status, (OK, 6))

    def create_view(self, name, query):
        self.queries[name] = query
        status, _ = self.call(
            INSTANCES + "CreateMaterializedView",
            field(1, INSTANCE) + field(2, name.encode()) +
            field(3, field(2, query.encode())))
        self.assertIn(status, (OK, 6), query)

    def read(self, name, backwards=False, more=b""):
        """Rows: (key, cells)."""
        status, replies = self.call(
            DATA + "ReadRows",
            field(11, INSTANCE + b"/materializedViews/" + name.encode()) +
            (field(7, 1) if backwards else b"") + more)
        rows = []
        for reply in replies:
            for number, chunk in message_fields(reply):
                if number == 1:
                    fields = dict(message_fields(chunk))
                    if 1 in fields:
                        rows.append((fields[1], []))
                    rows[-1][1].append(tuple(
                        fields.get(i, None if i < 4 else b"")
                        for i in (2, 3, 6)))
        return status, rows

    # --- random work --------------------------------------------------------

    def draw_query(self):
        keys = self.chance.choice(KEYS)
        values = self.chance.sample(VALUES, self.chance.randrange(1, 6))
        where = self.chance.choice(WHERE)
        columns = keys + ["%s AS v%d" % (v, i) for i, v in enumerate(values)]
        by = ", ".join(k.split(" AS ")[-1] for k in keys)
        return "SELECT %s FROM t%s GROUP BY %s" % (
            ", ".join(columns), " WHERE " + where if where else "", by)

    def change_row(self):
        c = self.chance
        row = c.choice([b"aa", b"ab", b"b", b"\xff\0"]) + b"%d" % c.randrange(9)
        changes = b""
        for _ in range(c.randrange(1, 4)):
            family, qualifier, values = c.choice(
                [(b"f", b"n", NUMBERS), (b"f", b"w", WORDS), (b"e", b"x", WORDS)])
            kind = c.randrange(8)
            if kind == 0:
                changes += field(3, field(4, b""))  # The row.
            elif kind == 1:
                changes += field(3, field(3, field(1, family)))
            elif kind == 2:
                changes += field(3, field(2, field(1, family) +
                                          field(2, qualifier)))
            elif kind == 3:
                changes += field(3, field(5, field(1, b"s") +
                                          field(2, field(8, b"c")) +
                                          field(3, field(9, 0)) +
                                          field(4, field(6, c.randrange(9)))))
            else:
                changes += field(3, field(1, field(1, family) +
                                          field(2, qualifier) +
                                          field(3, 2**64 - 1) +
                                          field(4, c.choice(values))))
        status, _ = self.call(DATA + "MutateRow", field(1, TABLE) +
                              field(2, row) + changes)
        self.assertEqual(status, OK)

    def await_equal(self):
        """Until each view gives what executing its query gives."""
        for name, query in self.queries.items():
            found = []

            def equal():
                status, rows = self.read(name)
                other, executed = self.read(name, True)
                found[:] = [status, rows, other, executed[::-1]]
                return status == other == OK and rows == executed[::-1]
            try:
                self.wait_for(equal, 90)
            except AssertionError:
                self.fail("%s\n%s: %r\n%s: %r" % (query, *found))

    def check_bounds(self):
        """Ranges and keys are those of all rows."""
        name = self.chance.choice(list(self.queries))
        _, rows = self.read(name)
        if not rows:
            return
        low, high = sorted(self.chance.choice(rows)[0] for _ in range(2))
        one = self.chance.choice(rows)[0]
        bounds = field(2, field(2, field(1, low) + field(3, high)) +
                       field(1, one) + field(1, b"zz"))
        status, part = self.read(name, more=bounds)
        self.assertEqual(status, OK)
        self.assertEqual(part, [r for r in rows
                                if low <= r[0] < high or r[0] == one],
                         self.queries[name])
        self.assertEqual(self.read(name, more=field(2, field(1, one))),
                         (OK, [r for r in rows if r[0] == one]),
                         self.queries[name])

    def work(self, rounds, writes, disturb=None):
        for _ in range(rounds):
            for _ in range(writes):
                self.change_row()
            if disturb:
                disturb()
        self.await_equal()
        for _ in range(8):
            self.check_bounds()

    # --- tests --------------------------------------------------------------

    def start_directory(self, **env):
        ports = free_ports(2)
        self.apis = ["127.0.0.1:%d" % ports[0]]
        self.log = self.path("log")
        ready = open(self.path("ready"), "w+")
        server = subprocess.Popen(
            [QUARRY, "server", "--data", self.path("data"), "--roles",
             "gateway,follow", "--listen", "127.0.0.1:%d" % ports[1],
             "--bigtable-api", self.apis[0], "--log", self.log],
            env=dict(self.env, **env), stdout=ready)

        def stop():
            server.terminate()
            server.wait()
            ready.close()
        self.addCleanup(stop)
        return server

    def await_run(self, times):
        """Until each view was taken by a maintainer as often."""
        def runs():
            with open(self.log) as f:
                text = f.read()
            return all(text.count("runs follower=view/%s " % name) == times
                       for name in self.queries)
        self.wait_for(runs)

    def test_directory(self):
        server = self.start_directory()
        self.create_table()
        for i in range(14):
            self.create_view("v%d" % i, self.draw_query())
        self.await_run(1)
        self.work(3, 40)
        with open(self.log) as f:
            self.assertNotIn("is executed at each read", f.read())
        server.kill()
        server.wait()
        server = self.start_directory()
        self.await_run(2)
        self.work(1, 40)
        self.check_without_engine(server)
        self.drop_all()

    def check_without_engine(self, server):
        """Kept rows are read without DuckDB, and nothing else is."""
        before = {name: self.read(name) for name in self.queries}
        server.kill()
        server.wait()
        self.start_directory(QUARRY_DUCKDB=self.path("nosuch.so"))
        for name in self.queries:
            self.wait_for(lambda: self.read(name) == before[name])
            self.assertEqual(self.read(name, True)[0], FAILED_PRECONDITION)

    def drop_all(self):
        """A table with views stays; without them it forgets its changes."""
        status, _ = self.call(TABLES + "DeleteTable", field(1, TABLE))
        self.assertEqual(status, FAILED_PRECONDITION)
        for name in self.queries:
            status, _ = self.call(
                INSTANCES + "DeleteMaterializedView",
                field(1, INSTANCE + b"/materializedViews/" + name.encode()))
            self.assertEqual(status, OK)
            self.assertEqual(self.read(name)[0], NOT_FOUND)
        status, _ = self.call(TABLES + "DeleteTable", field(1, TABLE))
        self.assertEqual(status, OK)

    def test_cluster(self):
        ports = free_ports(3)
        self.apis = ["127.0.0.1:%d" % port for port in ports]
        c = self.loopback(3, ROLES, HASTY)
        for name, api in zip(c.names, self.apis):
            path = os.path.join(c.dir(name), "server.conf")
            with open(path) as f:
                text = f.read()
            with open(path, "w") as f:
                f.write(text.replace("[server]\n",
                                     "[server]\nbigtable-api = %s\n" % api, 1))
            self.ok("cluster", "restart", name)
        self.create_table()
        for i in range(6):
            self.create_view("v%d" % i, self.draw_query())
        self.wait_for(lambda: self.run_quarry(
            "view", "list", "--target", "cluster:" + c.data).stdout.count(
                b" ready ") == len(self.queries))

        def disturb():
            victim = self.chance.choice(c.names)
            c.kill(victim)
            time.sleep(self.chance.uniform(0.2, 2))
            c.start(victim)
        self.work(3, 25, disturb)


if __name__ == "__main__":
    main()

"""Queries in GoogleSQL with the official Python client, against the gateway at
$BIGTABLE_EMULATOR_HOST: types of results and parameters, errors, batches, the
place of a resume, the end of a prepared query, and cancellation."""

import datetime
import os
import sys
import unittest

import grpc
from google.api_core import exceptions
from google.cloud import bigtable as admin
from google.cloud.bigtable.data import BigtableDataClient
from google.cloud.bigtable.data.execute_query import SqlType
from google.cloud.bigtable.data.mutations import AddToCell
from google.cloud.bigtable_v2 import (
    ExecuteQueryRequest, ExecuteQueryResponse, PrepareQueryRequest,
    PrepareQueryResponse, ProtoRows)

PROJECT, INSTANCE = "p", "quarry"
NAME = "projects/%s/instances/%s" % (PROJECT, INSTANCE)
METHODS = "/google.bigtable.v2.Bigtable/"
# More than one batch of the large table.
MANY, VALUE = 600, b"v" * 4096


def stamp(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)


class Queries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.instance = admin.Client(project=PROJECT, admin=True).instance(
            INSTANCE)
        cls.make("t", "cf", "n")
        table = cls.instance.table("t")
        for key, column, value, ms in [
                ("a", "x", b"old", 1), ("a", "x", b"new", 3),
                ("a", "y", b"Y", 2), ("b", "x", b"Bx", 2),
                ("c", "y", b"\xff\x00", 2)]:
            row = table.direct_row(key)
            row.set_cell("cf", column, value, stamp(ms))
            row.commit()
        cls.make("large", "f")
        rows = []
        for i in range(MANY):
            row = cls.instance.table("large").direct_row("k%05d" % i)
            row.set_cell("f", "v", VALUE)
            rows.append(row)
        cls.instance.table("large").mutate_rows(rows)
        cls.client = BigtableDataClient(project=PROJECT)
        channel = grpc.insecure_channel(os.environ["BIGTABLE_EMULATOR_HOST"])
        cls.prepare = staticmethod(channel.unary_unary(
            METHODS + "PrepareQuery", PrepareQueryRequest.serialize,
            PrepareQueryResponse.deserialize))
        cls.execute = staticmethod(channel.unary_stream(
            METHODS + "ExecuteQuery", ExecuteQueryRequest.serialize,
            ExecuteQueryResponse.deserialize))

    @classmethod
    def make(cls, name, *families):
        table = cls.instance.table(name)
        table.create(column_families={f: None for f in families})
        return table

    def ask(self, query, **options):
        return list(self.client.execute_query(query, INSTANCE, **options))

    def values(self, query, **options):
        return [[v for _, v in row.fields] for row in self.ask(query, **options)]

    def refused(self, query, error, text, **options):
        with self.assertRaises(error) as caught:
            self.ask(query, **options)
        self.assertIn(text, str(caught.exception))

    def prepared(self, query):
        return self.prepare(PrepareQueryRequest(
            instance_name=NAME, query=query, proto_format={})).prepared_query

    def request(self, prepared, token=b""):
        return ExecuteQueryRequest(instance_name=NAME, prepared_query=prepared,
                                   resume_token=token)

    def test_types(self):
        """Each type comes as what the client makes of it, and as its type."""
        query = ("SELECT _key, 'text' AS s, 1 AS i, CAST(0.5 AS FLOAT32) AS f4, "
                 "1.25 AS f8, TRUE AS b, TIMESTAMP '2024-02-29 01:02:03.5' AS t, "
                 "DATE '1969-12-31' AS d, [1, NULL, 3] AS l, "
                 "STRUCT(1 AS x, b'y' AS y) AS st, cf, NULL AS nothing, "
                 "DATE '2024-02-29' AS leap "
                 "FROM t WHERE _key = 'a'")
        [row] = self.ask(query)
        self.assertEqual(row["_key"], b"a")
        self.assertEqual([row[n] for n in ("s", "i", "f4", "f8", "b")],
                         ["text", 1, 0.5, 1.25, True])
        self.assertEqual(row["t"].isoformat(), "2024-02-29T01:02:03.500000+00:00")
        self.assertEqual((row["d"].year, row["d"].month, row["d"].day),
                         (1969, 12, 31))
        self.assertEqual(row["leap"].day, 29)
        self.assertEqual(row["l"], [1, None, 3])
        self.assertEqual(row["st"].fields, [("x", 1), ("y", b"y")])
        self.assertEqual(row["cf"], {b"x": b"new", b"y": b"Y"})
        self.assertIsNone(row["nothing"])
        rows = self.client.execute_query(query, INSTANCE)
        list(rows)
        types = [str(c.column_type) for c in rows.metadata.columns]
        self.assertEqual(types[:3], ["Bytes", "String", "Int64"])
        self.assertIsInstance(rows.metadata.columns[10].column_type, SqlType.Map)

    def test_history(self):
        """with_history: arrays of timestamps and values."""
        [[cf]] = self.values("SELECT cf FROM t(with_history => TRUE) "
                             "WHERE _key = 'a'")
        self.assertEqual(
            [(int(v["timestamp"].timestamp() * 1000), v["value"])
             for v in cf[b"x"]], [(3, b"new"), (1, b"old")])

    def test_parameters(self):
        """Values of every type that a parameter may have."""
        when = stamp(1234567)
        self.assertEqual(self.values(
            "SELECT @b, @s, @i, @f4, @f8, @y, CAST(@d AS STRING), @l, @e, "
            "@n IS NULL",
            parameters={"b": b"\xff\x00'", "s": "ü'", "i": -7, "f4": 0.5,
                        "f8": 1e300, "y": True, "d": datetime.date(2024, 2, 29),
                        "l": ["a", None], "e": [], "n": None},
            parameter_types={"f4": SqlType.Float32(), "f8": SqlType.Float64(),
                             "l": SqlType.Array(SqlType.String()),
                             "e": SqlType.Array(SqlType.Int64()),
                             "n": SqlType.Int64()}),
            [[b"\xff\x00'", "ü'", -7, 0.5, 1e300, True,
              "2024-02-29", ["a", None], [], True]])
        [[got]] = self.values("SELECT @t", parameters={"t": when})
        self.assertEqual(got, when)
        self.assertEqual(self.values(
            "SELECT _key FROM t WHERE _key = @k LIMIT @n",
            parameters={"k": b"b", "n": 5}), [[b"b"]])

    def test_rows(self):
        """Conditions, groups, orders, nothing found."""
        self.assertEqual(self.values("SELECT _key FROM t"),
                         [[b"a"], [b"b"], [b"c"]])
        self.assertEqual(self.values(
            "SELECT _key FROM t WHERE _key IN ('c', 'none', 'a')"),
            [[b"a"], [b"c"]])
        self.assertEqual(self.values("SELECT _key FROM t ORDER BY _key DESC"),
                         [[b"c"], [b"b"], [b"a"]])
        self.assertEqual(self.values(
            "SELECT cf['x'] IS NULL AS m, COUNT(*) FROM t GROUP BY m "
            "ORDER BY m"), [[False, 2], [True, 1]])
        self.assertEqual(self.values("SELECT _key FROM t WHERE _key = 'no'"), [])
        self.assertEqual(self.values("SELECT cf['y'] FROM t WHERE _key = 'c'"),
                         [[b"\xff\x00"]])

    def test_errors(self):
        """Codes and texts, with the place."""
        invalid = exceptions.InvalidArgument
        self.refused("SELECT x FROM t", invalid, "Unrecognized name: x [at 1:8]")
        self.refused("SELECT * FROM none", invalid,
                     "Table not found: none [at 1:15]")
        self.refused("SELEC 1", invalid, "Syntax error")
        self.refused("SELECT @p", invalid, "Query parameter not found: p")
        self.refused("SELECT 1 / (LENGTH(_key) - 1) FROM t", invalid, "zero")
        self.refused("SELECT * FROM t", exceptions.NotFound, "AppProfile",
                     app_profile_id="none")

    def test_batches(self):
        """Every row once, over several batches, each with a token; a stream is
        resumed behind any of them, with and without LIMIT."""
        keys = [b"k%05d" % i for i in range(MANY)]
        self.assertEqual(self.values("SELECT _key, f['v'] FROM large"),
                         [[k, VALUE] for k in keys])
        for limit in ("", " ORDER BY _key LIMIT 500"):
            prepared = self.prepared("SELECT _key, f FROM large" + limit)
            whole, tokens = self.stream(prepared)
            self.assertEqual(whole, keys[:500] if limit else keys)
            self.assertGreater(len(tokens), 3)
            for count, token in tokens:
                rest, _ = self.stream(prepared, token)
                self.assertEqual(whole[:count] + rest, whole)

    def stream(self, prepared, token=b""):
        """(keys, [(keys up to the token, token)])"""
        keys, tokens, batch = [], [], b""
        for i, r in enumerate(self.execute(self.request(prepared, token))):
            self.assertEqual(r.results.reset, i == 0)
            batch += r.results.proto_rows_batch.batch_data
            if "batch_checksum" in r.results:
                keys += [v.bytes_value for v in
                         ProtoRows.deserialize(batch).values[::2]]
                batch = b""
            if r.results.resume_token:
                self.assertEqual(batch, b"")
                tokens.append((len(keys), r.results.resume_token))
        return keys, tokens

    def test_garbled(self):
        """Garbled tokens, and those of others, are refused."""
        prepared = self.prepared("SELECT _key, f FROM large")
        _, tokens = self.stream(prepared)
        other = self.prepared("SELECT _key FROM large")
        for request in (
                self.request(prepared[:-1] + bytes([prepared[-1] ^ 1])),
                self.request(b"x"), self.request(prepared, b"y"),
                self.request(other, tokens[0][1]),
                ExecuteQueryRequest(instance_name=NAME + "x",
                                    prepared_query=prepared)):
            with self.assertRaises(grpc.RpcError) as caught:
                list(self.execute(request))
            self.assertEqual(caught.exception.code(),
                             grpc.StatusCode.INVALID_ARGUMENT)

    def test_expiry(self):
        """A change of the table's families ends what was prepared, in the way
        that clients know."""
        table = self.make("changing", "f")
        prepared = self.prepared("SELECT * FROM changing")
        self.assertEqual(self.stream(prepared)[0], [])
        table.column_family("g").create()
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.execute(self.request(prepared)))
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.FAILED_PRECONDITION)
        details = dict(caught.exception.trailing_metadata())[
            "grpc-status-details-bin"]
        self.assertIn(b"google.rpc.PreconditionFailure", details)
        self.assertIn(b"PREPARED_QUERY_EXPIRED", details)
        self.assertEqual(self.values("SELECT * FROM changing"), [])

    def test_query_itself(self):
        """The older form: metadata first, parameters by their values' types."""
        answers = list(self.execute(ExecuteQueryRequest(
            instance_name=NAME, query="SELECT _key FROM t WHERE _key = @k",
            params={"k": {"bytes_value": b"b", "type_": {"bytes_type": {}}}})))
        self.assertEqual(
            answers[0].metadata.proto_schema.columns[0].name, "_key")
        rows = ProtoRows.deserialize(
            answers[1].results.proto_rows_batch.batch_data)
        self.assertEqual(rows.values[0].bytes_value, b"b")

    def test_views(self):
        """A logical view, and a view of a view, are their queries; a query over
        one is prepared again when it was changed; who drops it, drops it."""
        views = admin.Client(project=PROJECT, admin=True)
        views = views.instance_admin_client
        view = {"query": "SELECT _key, cf['x'] AS x FROM t WHERE cf['x'] IS "
                         "NOT NULL"}
        for name, made in [("xs", view),
                           ("last", {"query": "SELECT MAX(x) AS x FROM xs"})]:
            views.create_logical_view(parent=NAME, logical_view_id=name,
                                      logical_view=made).result()
        self.assertEqual(self.values("SELECT * FROM xs ORDER BY _key"),
                         [[b"a", b"new"], [b"b", b"Bx"]])
        self.assertEqual(self.values("SELECT x FROM last"), [[b"new"]])
        prepared = self.prepared("SELECT * FROM xs")
        view["name"] = NAME + "/logicalViews/xs"
        view["query"] = "SELECT _key FROM t"
        views.update_logical_view(logical_view=view,
                                  update_mask={"paths": ["query"]}).result()
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.execute(self.request(prepared)))
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.FAILED_PRECONDITION)
        self.refused("SELECT x FROM last", exceptions.InvalidArgument, "x")
        for name in ["xs", "last"]:
            views.delete_logical_view(name=NAME + "/logicalViews/" + name)
        self.refused("SELECT * FROM xs", exceptions.InvalidArgument,
                     "Table not found: xs")

    def test_numbers_of_aggregates(self):
        """A family of sums is a MAP of BYTES and INT64; its history has bytes."""
        tables = admin.Client(project=PROJECT, admin=True).table_admin_client
        int64 = {"int64_type": {"encoding": {"big_endian_bytes": {}}}}
        tables.create_table(parent=NAME, table_id="sums", table={
            "column_families": {"s": {"value_type": {"aggregate_type": {
                "input_type": int64, "sum": {}}}}}})
        with self.client.get_table(INSTANCE, "sums") as table:
            for amount in [5, -7]:
                table.mutate_row(b"r", AddToCell("s", b"q", amount, 1000))
        rows = self.ask("SELECT s, s['q'] + 1 AS more FROM sums")
        self.assertEqual([v for _, v in rows[0].fields], [{b"q": -2}, -1])
        history = self.values(
            "SELECT s['q'][0].value FROM sums(with_history => TRUE)")
        self.assertEqual(history, [[(-2).to_bytes(8, "big", signed=True)]])

    def test_cancelled(self):
        """A query whose caller goes ends, and makes room for others: more of
        them than run at once."""
        numbers = "UNNEST([%s])" % ", ".join(map(str, range(100)))
        endless = self.prepared(
            "SELECT COUNTIF(a * b * c = d * e * f) FROM " + ", ".join(
                "%s AS %s" % (numbers, name) for name in "abcdef"))
        for _ in range(6):
            call = self.execute(self.request(endless), timeout=0.3)
            with self.assertRaises(grpc.RpcError) as caught:
                list(call)
            self.assertEqual(caught.exception.code(),
                             grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertEqual(self.values("SELECT COUNT(*) FROM t"), [[3]])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"] + sys.argv[1:])

"""quarry sql --dialect google: queries as Cloud Bigtable takes them."""

import json
import os

import google_constructs
from harness import main
from test_sql import SqlTest


class GoogleSqlTest(SqlTest):
    def setUp(self):
        super().setUp()
        self.table("t", "cf", "n")
        self.ok("put", "t", "a", "cf:x=old", "--time",
                "1970-01-01T00:00:00.001Z")
        self.ok("put", "t", "a", "cf:x=new", "--time",
                "1970-01-01T00:00:00.003Z")
        self.ok("put", "t", "a", "cf:y=Y")
        self.ok("put", "t", "b", "cf:x=Bx")
        self.ok("put", "t", "c", r"cf:y=\xff\x00")
        self.ok("incr", "t", "a", "n:i", "258")

    def ask(self, *queries):
        """All queries in one process; the values of their rows."""
        out = self.ok("sql", "--dialect", "google", "--format", "json",
                      stdin=";\n".join(queries) + ";\n")
        decoder, at, results = json.JSONDecoder(
            object_pairs_hook=lambda pairs: pairs), 0, []
        while out[at:].strip():
            at += len(out[at:]) - len(out[at:].lstrip())
            rows, at = decoder.raw_decode(out, at)
            results.append([[plain(value) for _, value in row]
                            for row in rows])
        return results

    def test_constructs(self):
        wanted, refused = {}, {}
        for _, queries, _ in google_constructs.CONSTRUCTS:
            for query, rows in queries.items():
                (refused if isinstance(rows, str) else wanted)[query] = rows
        results = self.ask(*wanted)
        self.assertEqual(len(results), len(wanted))
        for (query, rows), got in zip(wanted.items(), results):
            with self.subTest(query=query):
                self.assertEqual(got, rows)
        self.refused(*refused.items(), options=["--dialect", "google"])

    def test_the_table_of_the_docs_is_true(self):
        docs = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                            "sql.md")
        with open(docs, encoding="utf-8") as f:
            self.assertIn(google_constructs.table(), f.read(),
                          "python3 tests/cli/google_constructs.py prints it")

    def test_other_dialects_and_formats_are_refused(self):
        for args in (("--dialect", "postgres"),
                     ("--dialect", "google", "--format", "parquet")):
            done = self.run_quarry("sql", *args, "-c", "SELECT 1")
            self.assertEqual(done.returncode, 1)
            self.assertIn(args[1], done.stderr.decode() + "google")


def plain(value):
    """Objects of JSON, which come as pairs, as dictionaries."""
    if isinstance(value, list) and value and all(
            isinstance(v, tuple) for v in value):
        return {k: plain(v) for k, v in value}
    return [plain(v) for v in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()

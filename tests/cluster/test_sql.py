"""SQL on a cluster of three nodes: `quarry sql`, and quarry.duckdb_extension in
another DuckDB, by its C API and by Python's package where that is, see the same
rows, also after a node was killed."""

import json
import os
import sys

from processes import ClusterTest, main

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
import test_sql  # noqa: E402
import test_sql_extension  # noqa: E402

try:
    import duckdb
except ImportError:
    duckdb = None

TARGET = "cluster:quarry-cluster"
ROWS = 3000
LANGUAGES = ["de", "en", "fr"]


class SqlTest(ClusterTest):
    def setUp(self):
        super().setUp()
        if not test_sql.LIBRARY or not test_sql.SqlTest.has_duckdb():
            test_sql.say_skipped(self, "DuckDB is not here (scripts/deps sql)")
        self.env["QUARRY_DUCKDB"] = test_sql.LIBRARY
        self.env["QUARRY_TARGET"] = TARGET
        # DuckDB keeps what it made for the process.
        self.env["ASAN_OPTIONS"] = "detect_leaks=0"
        self.cluster = self.loopback(3)
        self.wait_for(lambda: any("master=yes ready=yes" in row["detail"]
                                  for row in self.cluster.status()))
        self.ok("table", "create", "web", "--family", "s", "--family", "n")
        self.write("rows.tsv", "".join(
            "row%05d\ts:lang\t1\t%s\nrow%05d\tn:i\t1\t%d\n" %
            (i, LANGUAGES[i % 3], i, i) for i in range(ROWS)))
        self.ok("import", "rows.tsv", "--into", "web")
        for key in ("row01000", "row02000"):
            self.ok("table", "split", "web", key)

    def rows(self, *statements):
        args = [word for s in statements for word in ("-c", s)]
        return [list(json.loads(line).values()) for line in self.ok(
            "sql", *args, "--format", "jsonl").splitlines()]

    def test_shell(self):
        """Bounds, groups, joins with a file and another table, kept views, rows
        that are written; all of it with one node less."""
        groups = [[l, ROWS // 3] for l in LANGUAGES]
        by_language = ("SELECT decode(s['lang']) AS l, count(*) FROM web "
                       "GROUP BY l ORDER BY l")
        self.assertEqual(self.rows(by_language), groups)
        plan = self.ok("sql", "-c", "EXPLAIN SELECT n FROM web WHERE key BETWEEN "
                       "'row00990' AND 'row01009'")
        self.assertIn("quarry web: keys ['row00990', 'row01009\\x00')", plan)
        self.assertEqual(self.rows(
            "SELECT count(*) FROM web WHERE key BETWEEN 'row00990' AND "
            "'row01009'", "SELECT key FROM web ORDER BY key DESC LIMIT 1"),
            [[20], ["row02999"]])
        self.write("names.csv", "lang,name\nde,German\nen,English\n")
        self.ok("table", "create", "copy", "--family", "s")
        self.ok("sql", "-c", "INSERT INTO copy SELECT key, name AS \"s:name\" "
                "FROM web JOIN 'names.csv' c ON decode(s['lang']) = c.lang",
                "-c", "CREATE VIEW numbers AS SELECT * FROM quarry('web', "
                "columns := {'lang': 's:lang', 'i': 'n:i::BIGINT'})")
        names = [["English", 1000, 1499500], ["German", 1000, 1498500]]
        joined = ("SELECT decode(s['name']) AS name, count(*), sum(i)::BIGINT "
                  "FROM copy JOIN numbers USING (key) GROUP BY 1 ORDER BY 1")
        self.assertEqual(self.rows(joined), names)
        self.cluster.kill("n3")
        self.env["QUARRY_TIMEOUT"] = "60s"
        self.assertEqual(self.rows(by_language, joined), groups + names)

    def test_extension(self):
        """LOAD in another DuckDB, whose calls name the cluster."""
        if test_sql_extension.missing():
            test_sql.say_skipped(self, test_sql_extension.missing())
        os.chdir(self.dir)
        query = ("SELECT count(*) AS n, sum(i)::BIGINT AS i FROM "
                 "quarry('%s', 'web', columns := {'i': 'n:i::BIGINT'}, "
                 "key_from := 'row01500')" % TARGET)
        other = test_sql_extension.DuckDB()
        self.assertIsNone(other.run("LOAD '%s'" % test_sql_extension.EXTENSION))
        self.assertIsNone(other.run("COPY (%s) TO 'o.json' (FORMAT json)" % query))
        want = {"n": 1500, "i": sum(range(1500, ROWS))}
        with open("o.json", encoding="utf-8") as f:
            self.assertEqual(json.load(f), want)

    def test_python(self):
        """The same in Python's package."""
        if test_sql_extension.missing() or duckdb is None:
            test_sql.say_skipped(self, test_sql_extension.missing() or
                                 "Python's duckdb is not here")
        os.chdir(self.dir)
        db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        db.execute("LOAD '%s'" % test_sql_extension.EXTENSION)
        self.assertEqual(db.execute(
            "SELECT decode(s['lang']) AS l, count(*) FROM quarry('%s', 'web') "
            "GROUP BY l ORDER BY l" % TARGET).fetchall(),
            [(l, ROWS // 3) for l in LANGUAGES])
        self.assertEqual(db.execute(
            "SELECT count(*) FROM quarry_cells('%s', 'web', families := ['n'])" %
            TARGET).fetchall(), [(ROWS,)])


main()

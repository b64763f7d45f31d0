"""quarry sql: tables as relations, bounds pushed into scans, files, writing,
views, formats; and random queries against a model."""

import glob
import json
import os
import random
import subprocess

import harness
import sql_constructs
from harness import CliTest, Terminal, main


def library():
    """DuckDB, as scripts/deps sql puts it; None: it is not here."""
    named = os.environ.get("QUARRY_DUCKDB")
    cache = os.environ.get("QUARRY_SQL_CACHE") or os.path.expanduser(
        "~/.cache/quarry/duckdb")
    found = [named] if named else sorted(
        glob.glob(os.path.join(cache, "*", "libduckdb.so")))
    return found[-1] if found and os.path.exists(found[-1]) else None


LIBRARY = library()
BUILT_WITH = None
# The row between two results of one process.
MARK = "SELECT '--' AS mark"


def say_skipped(test, why):
    print("SKIPPED: %s: %s" % (test.id(), why), flush=True)
    test.skipTest(why)


class SqlTest(CliTest):
    def setUp(self):
        if not LIBRARY:
            print("SKIPPED: %s: DuckDB is not here (scripts/deps sql)" %
                  self.id(), flush=True)
            self.skipTest("DuckDB is not here")
        super().setUp()
        self.env["QUARRY_DUCKDB"] = LIBRARY
        # DuckDB keeps what it made for the process.
        self.env["LSAN_OPTIONS"] += ":detect_leaks=0"
        self.env["ASAN_OPTIONS"] = "detect_leaks=0"
        if not self.has_duckdb():
            print("SKIPPED: %s: quarry was built without DuckDB" % self.id(),
                  flush=True)
            self.skipTest("built without DuckDB")

    @staticmethod
    def has_duckdb():
        """Was quarry built with DuckDB? Asked once."""
        global BUILT_WITH
        if BUILT_WITH is None:
            done = subprocess.run([harness.QUARRY, "sql", "--format", "none"],
                                  stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, check=False)
            BUILT_WITH = b"built without DuckDB" not in done.stderr
        return BUILT_WITH

    def put(self, table, rows):
        """@rows: key -> {"family:qualifier": text or bytes}."""
        script = "".join(
            "put %s %s %s\n" % (table, quoted(key), " ".join(
                quoted("%s=%s" % c) for c in cells.items()))
            for key, cells in rows.items())
        self.ok("shell", stdin=script)

    def web(self):
        self.table("web", "anchor", "contents", "stats")
        self.put("web", {
            "com.a": {"contents:lang": "en", "contents:title": "A",
                      "anchor:x": "1"},
            "com.b": {"contents:lang": "de", "stats:n": "7"},
            "com.c": {"contents:lang": "en", "contents:title": "C"},
            "org.d": {"anchor:x": "2", "anchor:y": "3"},
            "org.e": {"stats:n": "12"}})

    def sql(self, *statements, options=()):
        args = []
        for s in statements:
            args += ["-c", s]
        return self.ok("sql", *args, *options).replace("\r\n", "\n")

    def rows(self, *statements):
        """The rows of the results, as lists of what JSON makes of them."""
        text = self.sql(*statements, options=["--format", "jsonl"])
        return [list(json.loads(line).values()) for line in text.splitlines()]

    def all_rows(self, *statements):
        """The rows of each statement; all run in one process."""
        out = []
        for line in self.ok("sql", "--format", "jsonl", stdin="".join(
                "%s;\n%s;\n" % (MARK, q) for q in statements)).splitlines():
            row = json.loads(line)
            if list(row.items()) == [("mark", "--")]:
                out.append([])
            else:
                out[-1].append(list(row.values()))
        self.assertEqual(len(out), len(statements))
        return out

    def refused(self, *pairs, options=()):
        """Each statement fails, and says why; all run in one process."""
        done = self.run_quarry("sql", *options, stdin=".bail off\n" + "".join(
            "%s;\n" % statement for statement, _ in pairs))
        self.assertEqual(done.returncode, 1)
        said = ("\n" + done.stderr.decode()).split("\nquarry: ")[1:]
        self.assertEqual(len(said), len(pairs) + 1, said)
        for (statement, why), message in zip(pairs, said):
            self.assertIn(why, message, statement)
        self.assertIn("%d statements failed" % len(pairs), said[-1])

    def all_pushed(self, *statements):
        """Of each, the lines of EXPLAIN about the scans of Quarry."""
        out = []
        for line in self.ok("sql", stdin="".join(
                "%s;\nEXPLAIN %s;\n" % (MARK, q)
                for q in statements)).splitlines():
            if line == "mark":
                out.append([])
            elif line.startswith("quarry"):
                out[-1].append(line)
        self.assertEqual(len(out), len(statements))
        return out

    def pushed(self, statement):
        return self.all_pushed(statement)[0]


def quoted(word):
    return '"%s"' % word.replace("\\", "\\\\").replace('"', '\\"')


class Relations(SqlTest):
    def test_rows(self):
        """FROM name: `key`, and each family as a MAP of the newest values."""
        self.web()
        self.ok("put", "web", "com.a", "contents:title=newer")
        self.assertEqual(
            self.rows("FROM web WHERE key = 'com.a'"),
            [["com.a", {"x": "1"}, {"lang": "en", "title": "newer"}, {}]])
        self.assertEqual(
            self.rows("SELECT key, contents['lang']::VARCHAR FROM web "
                      "ORDER BY key"),
            [["com.a", "en"], ["com.b", "de"], ["com.c", "en"],
             ["org.d", None], ["org.e", None]])
        self.assertEqual(self.rows("SELECT count(*) FROM web"), [[5]])

    def test_cells(self):
        """quarry_cells(): a row a cell, all versions."""
        self.web()
        self.ok("put", "web", "com.c", "contents:title=newer")
        self.assertEqual(
            self.rows("SELECT family, qualifier, value FROM "
                      "quarry_cells('web') WHERE key = 'com.c'"),
            [["contents", "lang", "en"], ["contents", "title", "newer"],
             ["contents", "title", "C"]])
        self.assertEqual(
            self.rows("SELECT value FROM quarry_cells('web', versions := 1, "
                      "families := ['contents']) WHERE key = 'com.c'"),
            [["en"], ["newer"]])
        [[when]] = self.rows("SELECT min(timestamp) > TIMESTAMP '2020-01-01' "
                             "FROM quarry_cells('web')")
        self.assertTrue(when)

    def test_columns(self):
        """columns := declares columns with types; a value that is not of its
        type is an error that names row and column."""
        self.web()
        columns = "{'lang': 'contents:lang', 'n': 'stats:n::BIGINT'}"
        self.assertEqual(
            self.rows("SELECT lang, n + 1 FROM quarry('web', columns := %s) "
                      "WHERE key IN ('com.b', 'org.e') ORDER BY key" % columns),
            [["de", 8], [None, 13]])
        self.refused(
            ("SELECT l FROM quarry('web', columns := "
             "{'l': 'contents:lang::BIGINT'})",
             "row com.a, column l: not a decimal number"),
            ("FROM quarry('web', columns := {'l': 'nosuch:lang'})",
             "no column family nosuch"),
            ("FROM quarry('web', columns := 'l')", "not a struct"))

    def test_counters(self):
        """INT64 reads what increments write."""
        self.web()
        self.ok("incr", "web", "com.a", "stats:hits", "41")
        self.assertEqual(
            self.rows("SELECT hits + 1 FROM quarry('web', columns := "
                      "{'hits': 'stats:hits::INT64'}) WHERE key = 'com.a'"),
            [[42]])

    def test_any_bytes(self):
        """Bytes that are no UTF-8 are an error in a VARCHAR, and are read as
        BLOB; no value ends the process."""
        self.table()
        self.ok("put", "t", "k\\xff\\x00", "f:q\\xfe=\\xff\\x00\\x01")
        message = self.run_quarry("sql", "-c", "FROM t").stderr.decode()
        self.assertIn("not UTF-8", message)
        out = self.rows("SELECT hex(key), hex(map_keys(f)[1]), "
                        "hex(map_values(f)[1]) FROM quarry('t', "
                        "binary := true)")
        self.assertEqual(out, [["6BFF00", "71FE", "FF0001"]])
        self.assertIn("base64:a/8A", self.sql(
            "SELECT key FROM quarry('t', binary := true)",
            options=["--format", "csv"]))
        self.assertIn(r"k\xff\x00", self.sql(
            "SELECT key FROM quarry('t', binary := true)"))

    def test_names(self):
        """A table of DuckDB, or of a WITH, hides one of Quarry."""
        self.web()
        self.assertEqual(
            self.rows("WITH web AS (SELECT 1 AS key) FROM web WHERE key = 1"),
            [[1]])
        self.assertEqual(
            self.rows("CREATE TEMP TABLE web AS SELECT 'q' AS key",
                      "FROM web WHERE key >= 'a'"), [["q"]])
        self.assertIn("nosuch", self.run_quarry(
            "sql", "-c", "FROM nosuch").stderr.decode())


class Pushing(SqlTest):
    def test_keys(self):
        """Conditions on the key become ranges and keys of the scan."""
        self.web()
        wanted = [
                ("key = 'com.b'", "1 key 'com.b'"),
                ("'com.b' = key", "1 key 'com.b'"),
                ("key IN ('com.b', 'x')", "2 keys"),
                ("key >= 'b' AND key < 'c'", "keys ['b', 'c')"),
                ("key BETWEEN 'b' AND 'c'", "keys ['b', 'c\\x00')"),
                ("key LIKE 'com.%'", "keys ['com.', 'com/')"),
                ("starts_with(key, 'org')", "keys ['org', 'orh')"),
                ("key > 'x' AND key < 'b'", "no rows"),
                ("key = 'com.b' OR key = 'x'", "all rows"),
                ("lower(key) = 'com.b'", "all rows")]
        lines = self.all_pushed(*["SELECT key FROM web WHERE " + condition
                                  for condition, _ in wanted])
        for (condition, what), [line] in zip(wanted, lines):
            self.assertIn(what, line, condition)

    def test_joins(self):
        """Each table of a join gets its own bounds; none, where a name may be
        of another."""
        self.web()
        (a, b), (_, c) = self.all_pushed(
            "FROM web a JOIN web b USING (key) "
            "WHERE a.key >= 'com.b' AND b.key <= 'com.c'",
            "FROM web a ASOF JOIN web b ON a.key >= b.key "
            "WHERE b.key = 'com.a'")
        self.assertIn("['com.b', )", a)
        self.assertIn("['', 'com.c\\x00')", b)
        self.assertIn("all rows", c)

    def test_limit(self):
        """A plain LIMIT ends the scan, in the order of the keys."""
        self.web()
        [plain], [other] = self.all_pushed("FROM web LIMIT 2 OFFSET 1",
                                           "SELECT max(key) FROM web LIMIT 1")
        self.assertIn("at most 3 rows", plain)
        self.assertNotIn("at most", other)
        self.assertEqual(self.rows("SELECT key FROM web LIMIT 2 OFFSET 1"),
                         [["com.b"], ["com.c"]])

    def test_families(self):
        """Only families that are read, where rows without them cannot meet a
        condition; all of them else."""
        self.web()
        conditions = ["contents['lang'] = 'de'",
                      "coalesce(contents['lang'], 'de') = 'de'",
                      "contents['lang'] IS NULL", "contents IS NOT NULL",
                      "contents['lang'] IS DISTINCT FROM 'de'"]
        lines = self.all_pushed(*["SELECT key FROM web WHERE " + condition
                                  for condition in conditions])
        self.assertIn("only rows", lines[0][0])
        for condition, [line] in zip(conditions[1:], lines[1:]):
            self.assertNotIn("only rows", line, condition)
        self.assertEqual(self.rows("SELECT count(*) FROM web WHERE "
                                   "contents['lang'] IS NULL"), [[2]])

    def test_cells_pushed(self):
        """Families, qualifiers, times and keys of cells; what a call says itself
        stays; the rows are those without bounds."""
        self.web()
        self.sql("INSERT INTO web SELECT 'com.a' AS key, 'stats' AS family, "
                 "'old' AS qualifier, make_timestamp(i) AS timestamp, 'v' AS "
                 "value FROM range(1, 4) t(i)")
        cases = [
            ("family = 'stats' AND key LIKE 'com.%'",
             "keys ['com.', 'com/'); families stats"),
            ("family IN ('anchor', 'nosuch') AND key = 'org.d'",
             "1 key 'org.d'; families anchor"),
            ("qualifier = 'lang'", "columns like [^:]*:(?s:lang)"),
            ("qualifier IN ('n', 'a|b')", "columns like [^:]*:(?s:n|a\\x7cb)"),
            ("qualifier LIKE 'o%'", "columns like [^:]*:(?s:o.*)"),
            ("timestamp >= make_timestamp(2) AND timestamp < '1990-01-01'",
             "times from 1970-01-01T00:00:00.000002Z to before "
             "1990-01-01T00:00:00Z"),
            ("timestamp <= make_timestamp(2)",
             "times to before 1970-01-01T00:00:00.000003Z"),
            ("timestamp BETWEEN DATE '1970-01-01' AND TIMESTAMP '1970-01-02'",
             "times from 1970-01-01T00:00:00Z to before "
             "1970-01-02T00:00:00.000001Z"),
            ("timestamp > '2030-01-01' AND timestamp < '2020-01-01'", "no rows"),
            ("family = 'nosuch'", None)]
        pushed = self.all_pushed(*["FROM quarry_cells('web') WHERE " + c
                                   for c, _ in cases])
        for (condition, line), [found] in zip(cases, [
                p or [None] for p in pushed]):
            self.assertIn(line or "all rows", found, condition)
        query = "FROM quarry_cells('web') WHERE %s ORDER BY ALL"
        found = self.all_rows(*[query % c for c, _ in cases])
        self.assertEqual(found, self.all_rows(*[
            query % ("(%s) OR false" % c) for c, _ in cases]))
        self.assertEqual([len(f) > 0 for f in found], [True] * 8 + [False] * 2)
        calls = ["versions := 1) WHERE timestamp = make_timestamp(2)",
                 "families := ['stats']) WHERE family = 'anchor'",
                 "column_regex := 'stats:.*') WHERE qualifier = 'x'",
                 "row_limit := 1) WHERE key > 'com.b'",
                 "key_from := 'com.b') WHERE key > 'com.a'",
                 "time_to := make_timestamp(2)) WHERE timestamp < '2030-01-01'",
                 "binary := true) WHERE key = '\\x63om.a' AND qualifier = "
                 "'\\x6f\\x6c\\x64'"]
        query = "FROM quarry_cells('web', %s ORDER BY ALL"
        self.assertEqual(
            self.all_rows(*[query % c for c in calls]),
            self.all_rows(*[query % (c.replace("WHERE ", "WHERE false OR (") +
                                     ")") for c in calls]))
        self.assertEqual(len(self.rows(query % calls[-1])), 3)
        self.assertEqual(self.rows("SELECT key FROM quarry('web', row_limit := 2)"
                                   " WHERE key > 'com.a'"), [["com.b"]])

    def test_store_first(self):
        """quarry('store', 'table'), as in another DuckDB."""
        self.web()
        target = "file:" + self.path("quarry-data")
        self.assertEqual(self.rows(
            "SELECT count(*) FROM quarry('%s', 'web', key_prefix := 'com.')" %
            target, "SELECT count(*) FROM Quarry_Cells ( '%s' /* of */ , 'web')"
            % target), [[3], [10]])
        self.assertIn("1 key 'com.b'", self.pushed(
            "FROM quarry('%s', 'web') w WHERE w.key = 'com.b'" % target)[0])

    def test_parameters(self):
        """Bounds given by hand, in quarry() itself."""
        self.web()
        wanted = [
                ("key_prefix := 'org.'", ["org.d", "org.e"]),
                ("key_from := 'com.c', key_to := 'org.e'", ["com.c", "org.d"]),
                ("key_last := 'com.a'", ["com.a"]),
                ("keys := ['com.b', 'nosuch']", ["com.b"]),
                ("row_limit := 1", ["com.a"]),
                ("families := ['anchor']", ["com.a", "org.d"]),
                ("column_regex := 'stats:n'", ["com.b", "org.e"]),
                ("time_to := TIMESTAMP '2001-01-01'", []),
                ("program := 'r: Row = input; if (string(r.key) > \"org.d\") "
                 "emit keep <- r;'", ["org.e"])]
        results = self.all_rows(*[
            "SELECT key FROM quarry('web', %s) ORDER BY key" % parameters
            for parameters, _ in wanted])
        for (parameters, keys), rows in zip(wanted, results):
            self.assertEqual([key for [key] in rows], keys, parameters)


class Files(SqlTest):
    def test_joins(self):
        """Files of Parquet, CSV and JSON join tables; results become files."""
        self.web()
        self.write("names.csv", "lang,name\nen,English\nde,German\n")
        self.write("w.jsonl", '{"lang": "en", "w": 2}\n')
        self.sql("COPY (SELECT key, contents['lang']::VARCHAR AS lang FROM web "
                 "WHERE key LIKE 'com.%') TO 'out.parquet'")
        self.assertEqual(
            self.rows("SELECT p.key, n.name, j.w FROM 'out.parquet' p "
                      "JOIN 'names.csv' n USING (lang) "
                      "LEFT JOIN 'w.jsonl' j USING (lang) "
                      "JOIN web ON web.key = p.key ORDER BY 1"),
            [["com.a", "English", 2], ["com.b", "German", None],
             ["com.c", "English", 2]])

    def test_formats(self):
        self.web()
        query = "SELECT key, stats, NULL AS x FROM web WHERE key >= 'org.'"
        self.assertEqual(
            self.sql(query, options=["--format", "csv"]),
            "key,stats,x\norg.d,{},\norg.e,{n=12},\n")
        self.assertEqual(json.loads(self.sql(query,
                                             options=["--format", "json"])),
                         [{"key": "org.d", "stats": {}, "x": None},
                          {"key": "org.e", "stats": {"n": "12"}, "x": None}])
        self.sql(query, options=["--format", "parquet", "--output", "o.parquet"])
        self.assertEqual(self.rows("SELECT count(*) FROM 'o.parquet'"), [[2]])
        self.assertEqual(self.sql("SELECT 1 AS a, 'x' AS b"),
                         "a  b\n─  ─\n1  x\n")
        self.assertEqual(self.sql("SELECT 1", options=["--format", "json"]),
                         '[{"1": 1}]\n')

    def test_values(self):
        """Each type of DuckDB is printed as it prints it."""
        types = [("true", "true"), ("1::UTINYINT", "1"),
                 ("-170141183460469231731687303715884105727::HUGEINT",
                  "-170141183460469231731687303715884105727"),
                 ("1.50::DECIMAL(9, 2)", "1.50"), ("0.1::DOUBLE", "0.1"),
                 ("DATE '2024-02-29'", "2024-02-29"),
                 ("TIME '12:00:01.5'", "12:00:01.5"),
                 ("TIMESTAMP '2024-02-29 01:02:03'", "2024-02-29 01:02:03"),
                 ("INTERVAL 3 DAYS", "3 days"),
                 ("'5b1d8a2f-0c1e-4f4b-9d0a-0f1e2d3c4b5a'::UUID",
                  "5b1d8a2f-0c1e-4f4b-9d0a-0f1e2d3c4b5a"),
                 ("'0101'::BIT", "0101"),
                 ("'b'::ENUM('a', 'b')", "b"),
                 ("[1, NULL, 2]", "[1, NULL, 2]"),
                 ("{'a': 1, 'b': [2]}", "{'a': 1, 'b': [2]}"),
                 ("MAP {'a': 1}", "{a=1}"), ("union_value(n := 5)", "5"),
                 ("array_value(1, 2)", "[1, 2]"), ("NULL", "NULL")]
        lines = self.ok("sql", stdin="".join(
            "SELECT %s AS v;\n" % sql for sql, _ in types)).splitlines()
        self.assertEqual(len(lines), 3 * len(types))
        for (sql, shown), out in zip(types, lines[2::3]):
            self.assertEqual(out.strip(), shown, sql)


class Writing(SqlTest):
    def test_insert(self):
        """Columns are meant by name: key, family:qualifier, families as maps,
        or a row a cell; NULL writes nothing."""
        self.web()
        self.sql("INSERT INTO web SELECT 'n' || i AS key, i AS \"stats:n\", "
                 "MAP {'p': 'q'} AS anchor, CASE WHEN i = 1 THEN 'en' END AS "
                 "\"contents:lang\" FROM range(3) t(i)")
        self.assertEqual(
            self.rows("FROM web WHERE key LIKE 'n%'"),
            [["n0", {"p": "q"}, {}, {"n": "0"}],
             ["n1", {"p": "q"}, {"lang": "en"}, {"n": "1"}],
             ["n2", {"p": "q"}, {}, {"n": "2"}]])
        self.sql("INSERT INTO web (key, \"stats:n\") VALUES ('v', '1')")
        self.sql("INSERT INTO web SELECT 'c' AS key, 'anchor' AS family, "
                 "'z' AS qualifier, TIMESTAMP '2020-01-01' AS timestamp, "
                 "'v' AS value")
        self.assertEqual(
            self.rows("SELECT * FROM quarry_cells('web') WHERE key = 'c'"),
            [["c", "anchor", "z", "2020-01-01 00:00:00", "v"]])
        self.table("copy", "stats", "anchor")
        self.sql("INSERT INTO copy SELECT key, stats, anchor FROM web "
                 "WHERE key LIKE 'org.%'")
        self.assertEqual(self.rows("SELECT key, stats FROM copy"),
                         [["org.d", {}], ["org.e", {"n": "12"}]])
        self.refused(*[("INSERT INTO web " + bad, why) for bad, why in [
            ("SELECT 1 AS x", "no family x"),
            ("SELECT 'a' AS \"stats:n\"", "no column is named key"),
            ("SELECT NULL AS key, 'a' AS \"stats:n\"", "NULL"),
            ("SELECT 'k' AS key, 'a' AS stats", "MAP"),
            ("(key) VALUES ('a', 'b')", "1 columns are named")]])

    def test_many(self):
        """More rows than a batch has."""
        self.table()
        self.sql("INSERT INTO t SELECT printf('%06d', i) AS key, i AS \"f:n\" "
                 "FROM range(5000) t(i)")
        self.assertEqual(
            self.rows("SELECT count(*), sum(n) FROM quarry('t', columns := "
                      "{'n': 'f:n::BIGINT'})"), [[5000, 4999 * 2500]])

    def test_delete(self):
        self.web()
        self.sql("DELETE FROM web WHERE key LIKE 'com.%' AND "
                 "contents['lang'] = 'en'")
        self.assertEqual([k for [k] in self.rows("SELECT key FROM web")],
                         ["com.b", "org.d", "org.e"])

    def test_views(self):
        """A view is kept in the store, and bounds are pushed into it."""
        self.web()
        self.sql("CREATE VIEW pages AS SELECT * FROM quarry('web', columns := "
                 "{'lang': 'contents:lang'}); CREATE VIEW english AS "
                 "SELECT key, lang FROM pages WHERE lang = 'en'")
        self.assertEqual(self.rows("SELECT key FROM english ORDER BY key"),
                         [["com.a"], ["com.c"]])
        self.assertIn("1 key 'com.a'", self.pushed(
            "FROM pages WHERE key = 'com.a'")[0])
        self.assertIn("1 key 'com.a'", self.pushed(
            "FROM english e WHERE e.key = 'com.a'")[0])
        self.assertEqual(self.rows("FROM english e WHERE e.key = 'com.a'"),
                         [["com.a", "en"]])
        self.assertEqual(self.ok("sql", stdin=".tables\n"),
                         "web\nview\n───────\nenglish\npages\n")
        self.sql("CREATE OR REPLACE VIEW english AS SELECT 1 AS one")
        self.assertEqual(self.rows("FROM english"), [[1]])
        self.sql("DROP VIEW english", "DROP VIEW IF EXISTS english")
        self.refused(("FROM english", "does not exist"),
                     ("CREATE VIEW web AS SELECT 1", "there is a table web"))
        self.ok("table", "drop", "web")
        self.assertIn("view pages is left out",
                      self.run_quarry("sql", "-c", "SELECT 1").stderr.decode())


class Shell(SqlTest):
    def test_scripts(self):
        """Files and standard input; the first error ends, with its place."""
        self.web()
        self.write("q.sql", "-- a; comment\nSELECT 1 AS a;\nSELECT ';' AS b")
        self.assertEqual(self.ok("sql", "q.sql", "--format", "csv"),
                         "a\r\n1\r\nb\r\n;\r\n")
        self.assertEqual(
            self.ok("sql", "--format", "csv", stdin="SELECT 2 AS a;;"),
            "a\r\n2\r\n")
        done = self.run_quarry("sql", "-c", "SELECT 1 AS a", "-c",
                               "SELECT *\nFROM web\nWHERE nosuch = 1", "-c",
                               "SELECT 3")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"LINE 3: WHERE nosuch = 1", done.stderr)
        self.assertNotIn(b"3\n", done.stdout)
        self.fails(2, "sql", "--format", "xml")

    def test_late_error(self):
        """An error after rows were printed is an error."""
        done = self.run_quarry("sql", "-c", "SELECT CASE WHEN i < 90000 THEN i "
                               "ELSE error('too far') END FROM range(100000) "
                               "t(i)", "--format", "csv")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"too far", done.stderr)

    def test_terminal(self):
        """Lines, completion, Ctrl-C at a prompt and in a statement."""
        self.web()
        t = Terminal(self, "sql")
        t.prompt("sql> ")
        t.type("SELECT key FROM we\t")
        t.wait_for("b ")
        t.press("\r")
        t.at_prompt = False
        t.prompt(" ...> ")
        t.line("WHERE key = 'org.e';")
        self.assertIn("org.e", t.prompt("sql> "))
        t.line(".schema web")
        self.assertIn("MAP(VARCHAR, BLOB)", t.prompt("sql> "))
        t.line("SELECT count(*) FROM range(1000000) a, range(10000000) b, "
               "range(100000) c WHERE a.range + b.range * c.range = -1;")
        t.press("\x03")
        self.assertIn("interrupted", t.prompt("sql> "))
        t.line("SELECT 40 + 2 AS answer;")
        self.assertIn("42", t.prompt("sql> "))
        t.type("\x04")
        t.close()


class Constructs(SqlTest):
    def test_table(self):
        """Each construct is in the state that docs/sql.md says."""
        self.web()
        self.write("names.csv", "lang,name\nen,English\n")
        self.sql(*[statement for _, statement, _ in
                   sql_constructs.CONSTRUCTS if statement[0] != "!"])
        self.refused(*[(statement[1:], "") for _, statement, _ in
                       sql_constructs.CONSTRUCTS if statement[0] == "!"])
        with open(os.path.join(harness.ROOT, "docs", "sql.md")) as f:
            self.assertIn(sql_constructs.table(), f.read(),
                          "python3 tests/cli/sql_constructs.py prints it")


class Missing(CliTest):
    def test_library(self):
        """Without DuckDB the command says what to run."""
        self.env["QUARRY_DUCKDB"] = self.path("nosuch.so")
        self.table()
        message = self.run_quarry("sql", "-c", "SELECT 1").stderr.decode()
        self.assertIn("scripts/deps sql", message)


class RandomQueries(SqlTest):
    """100 queries of fixed seeds, whose results are those of a model in Python
    over what `quarry scan` prints."""

    TABLETS = 4

    def make(self, rand):
        rows = {}
        for i in range(400):
            key = "%s.%03d" % (rand.choice(["com", "de", "org"]), i)
            rows[key] = {"s:lang": rand.choice(["en", "de", "fr", ""]),
                         "s:n": str(rand.randrange(-50, 50))}
            for column in list(rows[key]):
                if rand.random() < 0.2:
                    del rows[key][column]
            if rand.random() < 0.3:
                rows[key]["o:x"] = "y"
            if not rows[key]:
                rows[key]["o:x"] = "z"
        return rows

    def exported(self):
        out = {}
        for row in self.json("scan", "t"):
            cells = {}
            for c in row["cells"]:
                cells.setdefault(c["column"] if "column" in c else
                                 c["family"] + ":" + c["qualifier"], c["value"])
            out[row["key" if "key" in row else "row"]] = cells
        return out

    def condition(self, rand, keys):
        """(SQL, predicate of (key, lang, n)): true, false or None."""
        def compare(sql, get, values):
            op = rand.choice(["=", "<>", "<", "<=", ">", ">="])
            value = rand.choice(values)
            ops = {"=": lambda a: a == value, "<>": lambda a: a != value,
                   "<": lambda a: a < value, "<=": lambda a: a <= value,
                   ">": lambda a: a > value, ">=": lambda a: a >= value}
            text = "'%s'" % value if isinstance(value, str) else str(value)

            def test(row):
                left = get(row)
                return None if left is None else ops[op](left)
            return "%s %s %s" % (sql, op, text), test

        kind = rand.randrange(8)
        if kind == 0:
            return compare("key", lambda r: r[0], keys)
        if kind == 1:
            return compare("lang", lambda r: r[1], ["en", "de", "fr"])
        if kind == 2:
            return compare("n", lambda r: r[2], [-20, 0, 13])
        if kind == 3:
            prefix = rand.choice(["com.", "de", "org.1", "x"])
            return ("key LIKE '%s%%'" % prefix,
                    lambda r: r[0].startswith(prefix))
        if kind == 4:
            some = rand.sample(keys, 5)
            return ("key IN (%s)" % ", ".join("'%s'" % k for k in some),
                    lambda r: r[0] in some)
        if kind == 5:
            low, high = sorted(rand.sample(keys, 2))
            return ("key BETWEEN '%s' AND '%s'" % (low, high),
                    lambda r: low <= r[0] <= high)
        if kind == 6:
            return "lang IS NULL", lambda r: r[1] is None
        return "n IS NOT NULL", lambda r: r[2] is not None

    def where(self, rand, keys):
        parts = [self.condition(rand, keys) for _ in range(rand.randrange(3))]
        if not parts:
            return "", lambda r: True
        if len(parts) == 2 and rand.random() < 0.3:
            (a, f), (b, g) = parts
            return (" WHERE (%s OR %s)" % (a, b),
                    lambda r: f(r) is True or g(r) is True)
        return (" WHERE " + " AND ".join(p[0] for p in parts),
                lambda r: all(p[1](r) is True for p in parts))

    def source(self, rand):
        """The same rows, by three ways."""
        return rand.choice([
            "quarry('t', columns := {'lang': 's:lang', 'n': 's:n::BIGINT'})",
            "(SELECT key, s['lang']::VARCHAR AS lang, "
            "s['n']::VARCHAR::BIGINT AS n FROM t)", "v"])

    def query(self, rand, keys, rows):
        """(SQL, the rows it gives), sorted."""
        where, test = self.where(rand, keys)
        source = self.source(rand)
        kept = [r for r in rows if test(r)]
        kind = rand.randrange(4)
        if kind == 0:
            return ("SELECT count(*), count(lang), sum(n)::BIGINT FROM %s%s" %
                    (source, where),
                    [[len(kept), sum(r[1] is not None for r in kept),
                      sum((r[2] for r in kept if r[2] is not None), 0)
                      if any(r[2] is not None for r in kept) else None]])
        if kind == 1:
            groups = {}
            for r in kept:
                groups.setdefault(r[1], []).append(r)
            return ("SELECT lang, count(*), min(key) FROM %s%s GROUP BY lang "
                    "ORDER BY lang NULLS LAST" % (source, where),
                    [[lang, len(g), min(r[0] for r in g)] for lang, g in
                     sorted(groups.items(),
                            key=lambda p: (p[0] is None, p[0] or ""))])
        if kind == 2:
            top = sorted((r for r in kept if r[2] is not None),
                         key=lambda r: (-r[2], r[0]))[:10]
            glue = " AND " if where else " WHERE "
            return ("SELECT n, key FROM %s%s%sn IS NOT NULL ORDER BY n DESC, "
                    "key LIMIT 10" % (source, where, glue),
                    [[r[2], r[0]] for r in top])
        return ("SELECT key, lang, n FROM %s%s ORDER BY key" % (source, where),
                [list(r) for r in kept])

    def test_random(self):
        rand = random.Random(20)
        self.table("t", "s", "o")
        self.put("t", self.make(rand))
        for key in ("com.2", "de", "org.1"):
            self.ok("table", "split", "t", key)
        exported = self.exported()
        rows = [(key, cells.get("s:lang"),
                 int(cells["s:n"]) if "s:n" in cells else None)
                for key, cells in sorted(exported.items())]
        keys = [r[0] for r in rows]
        self.sql("CREATE VIEW v AS SELECT * FROM quarry('t', columns := "
                 "{'lang': 's:lang', 'n': 's:n::BIGINT'})")
        queries = [self.query(rand, keys, rows) for _ in range(100)]
        got = self.all_rows(*[q[0] for q in queries])
        for (sql, expected), result in zip(queries, got):
            self.assertEqual(result, expected, sql)

    def test_sawzall(self):
        """Counts and groups are those of a Sawzall program."""
        rand = random.Random(21)
        self.table("t", "s", "o")
        self.put("t", self.make(rand))
        self.write("p.szl", 'r: Row = input;\n'
                   'n: table sum of int;\n'
                   'l: table sum[lang: string] of int;\n'
                   'emit n <- 1;\n'
                   'lang: string = "none";\n'
                   'c: string = cell(r, "s:lang");\n'
                   'if (def(c)) lang = c;\n'
                   'emit l[lang] <- 1;\n')
        counted = {"n": [], "l": []}
        for line in self.ok("saw", "p.szl", "--table", "t", "--format",
                            "json").splitlines():
            row = json.loads(line)
            counted[row["table"]].append(row)
        [[total]] = self.rows("SELECT count(*) FROM t")
        self.assertEqual([r["value"] for r in counted["n"]], [total])
        groups = self.rows("SELECT coalesce(s['lang']::VARCHAR, 'none') AS l, "
                           "count(*) FROM t GROUP BY l ORDER BY l")
        self.assertEqual(sorted([r["lang"], r["value"]]
                                for r in counted["l"]), groups)


if __name__ == "__main__":
    main()

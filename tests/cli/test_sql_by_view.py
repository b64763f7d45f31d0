"""Materialized views in `quarry sql`: named like tables, with typed columns, row
by row, and as what EXPLAIN says they are."""

from harness import main
from test_sql import SqlTest

PROGRAM = """r: Row = input;
by: table sum[lang: string] of n: int;
best: table maximum(2) of key: string weight n: int;
emit by[string(cell(r, "c:lang"))] <- 1;
emit best <- string(r.key) weight int(string(cell(r, "c:n")), 10);
"""


class SqlByViewTest(SqlTest):
    def setUp(self):
        super().setUp()
        self.write("p.szl", PROGRAM)
        self.ok("table", "create", "t", "--family", "c", "--changes", "1d")
        self.ok("shell", stdin="".join(
            "put t r%03d c:lang=l%d\nput t r%03d c:n=%d\n" % (i, i % 40, i, i)
            for i in range(200)))
        self.ok("view", "create", "langs", "--sql",
                "SELECT c['lang'] AS lang, count(*) AS n, max(key) AS last, "
                "avg(c['n']::BIGINT) AS mean FROM t GROUP BY lang")
        self.ok("view", "create", "p", "AS", "p.szl", "--table", "t")

    def rows(self, text, *more):
        return self.ok("sql", "--format", "csv", *more, "-c", text).replace(
            "\r", "")

    def refusal(self, text):
        done = self.run_quarry("sql", "-c", text)
        self.assertEqual(done.returncode, 1)
        return done.stderr.decode()

    def test_names(self):
        self.assertIn("still being built", self.refusal("SELECT * FROM langs"))
        self.ok("follow", "run", "--until-caught-up")
        self.assertEqual(
            self.rows("SELECT lang, n + 1 AS n, last, mean FROM langs WHERE "
                      "lang < 'l11' ORDER BY lang"),
            "lang,n,last,mean\nl0,6,r160,80.0\nl1,6,r161,81.0\n"
            "l10,6,r170,90.0\n")
        self.assertEqual(
            self.rows("SELECT typeof(n) AS n, typeof(mean) AS m FROM "
                      "quarry('langs') LIMIT 1"), "n,m\nBIGINT,DOUBLE\n")
        self.assertEqual(
            self.rows("SELECT sum(a.n) AS a, sum(b.n) AS b FROM langs a JOIN "
                      "\"p.by\" b USING (lang)"), "a,b\n200,200\n")
        self.assertEqual(self.rows("SELECT key, n FROM \"p.best\""),
                         "key,n\nr199,199\nr198,198\n")
        self.assertEqual(
            self.rows("SELECT lang FROM langs WHERE n > 4 AND last LIKE "
                      "'%%77'", "--dialect", "google"), "lang\nl17\n")
        self.assertIn("view langs: kept up to date", self.ok(
            "sql", "-c", "EXPLAIN SELECT n FROM langs"))

    def test_refusals(self):
        self.ok("follow", "run", "--until-caught-up")
        self.assertIn("there are: langs, p", self.refusal("SELECT * FROM quarry('lang')"))
        self.assertIn("name one of by, best", self.refusal("SELECT * FROM p"))
        self.assertIn("chosen by WHERE alone", self.refusal("SELECT * FROM quarry('langs', key_prefix := 'l')"))
        self.ok("table", "create", "langs", "--family", "f")
        self.assertEqual(self.rows("SELECT count(*) AS n FROM langs"),
                         "n\n0\n")


if __name__ == "__main__":
    main()

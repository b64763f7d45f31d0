"""Random queries of `quarry sql` over a table, beside pandas on the exported
rows and, where Sawzall can say them, beside a Sawzall program.

    python3 test_sql_pandas.py QUARRY [QUERIES [SEED]]      default: 100, 7

Skips, and says so, where pandas is missing."""

import json
import random
import sys

# The harness takes all words but the program's.
WORDS = [int(w) for w in sys.argv[2:] if w.isdigit()]
sys.argv = sys.argv[:2] + [w for w in sys.argv[2:] if not w.isdigit()]
QUERIES = WORDS[0] if WORDS else 100
SEED = WORDS[1] if len(WORDS) > 1 else 7

from harness import main  # noqa: E402
from test_sql import SqlTest, say_skipped  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None

ROWS = 300
SAW = """r: Row = input;
n: table sum[g: string] of int;
s: table sum[g: string] of int;
lang: string = "none";
c: string = cell(r, "s:lang");
if (def(c)) lang = c;
v: string = cell(r, "s:n");
if (%s) { emit n[lang] <- 1; if (def(v)) emit s[lang] <- int(v, 10); }
"""


class Pandas(SqlTest):
    def setUp(self):
        if pandas is None:
            say_skipped(self, "pandas is not here")
        super().setUp()

    def make(self, draw):
        rows = {}
        for i in range(ROWS):
            cells = {"s:lang": draw.choice(["en", "de", "fr", "it"]),
                     "s:n": str(draw.randrange(-40, 40)),
                     "s:x": "%d.%d" % (draw.randrange(9), draw.choice([0, 5]))}
            for column in list(cells):
                if draw.random() < 0.2:
                    del cells[column]
            cells["o:i"] = str(i)
            rows["%s.%03d" % (draw.choice(["com", "de", "org"]), i)] = cells
        return rows

    def exported(self):
        """The table as pandas has it, from `quarry export`."""
        self.ok("export", "t", "t.jsonl")
        rows = []
        with open(self.path("t.jsonl"), encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                got = {c["family"] + ":" + c["qualifier"]: c["value"]
                       for c in row["cells"]}
                rows.append({"key": row["row"], "lang": got.get("s:lang"),
                             "n": got.get("s:n"), "x": got.get("s:x")})
        frame = pandas.DataFrame(rows)
        frame["n"] = pandas.to_numeric(frame["n"]).astype("Int64")
        frame["x"] = pandas.to_numeric(frame["x"]).astype("Float64")
        return frame

    def filter(self, draw, frame, alias=""):
        """(SQL, rows of @frame that pass)."""
        keys = frame["key"]
        if not len(keys):
            return "true", frame
        key, n = draw.choice(list(keys)), draw.randrange(-30, 30)
        prefix = draw.choice(["com.", "de.1", "org", "x"])
        some = [draw.choice(list(keys)) for _ in range(4)]
        lang = draw.choice(["en", "de", "xx"])
        sql, keep = draw.choice([
            ("%skey >= '%s'" % (alias, key), keys >= key),
            ("%skey < '%s'" % (alias, key), keys < key),
            ("%skey LIKE '%s%%'" % (alias, prefix),
             keys.str.startswith(prefix)),
            ("%skey IN (%s)" % (alias, ", ".join("'%s'" % k for k in some)),
             keys.isin(some)),
            ("%sn > %d" % (alias, n), (frame["n"] > n).fillna(False)),
            ("%sn IS NULL" % alias, frame["n"].isna()),
            ("%slang = '%s'" % (alias, lang), frame["lang"] == lang),
            ("%slang IS NOT NULL" % alias, frame["lang"].notna()),
            ("%sx <= 4.5" % alias, (frame["x"] <= 4.5).fillna(False))])
        return sql, frame[keep.astype(bool)]

    def filters(self, draw, frame):
        parts = []
        for _ in range(draw.randrange(3)):
            sql, frame = self.filter(draw, frame)
            parts.append(sql)
        return " WHERE " + " AND ".join(parts) if parts else "", frame

    def query(self, draw, frame):
        """(SQL, the rows that it gives, in order)."""
        where, kept = self.filters(draw, frame)
        kind = draw.choice(["rows", "group", "top", "join", "distinct", "cast",
                            "total"])
        if kind == "rows":
            return ("SELECT key, lang, n, x FROM v%s ORDER BY key" % where,
                    kept[["key", "lang", "n", "x"]].sort_values("key"))
        if kind == "group":
            out = kept.dropna(subset=["lang"]).groupby("lang", as_index=False).agg(
                c=("key", "size"), s=("n", "sum"), m=("x", "max"))
            return ("SELECT lang, count(*), coalesce(sum(n), 0)::BIGINT, max(x) "
                    "FROM (FROM v%s) WHERE lang IS NOT NULL GROUP BY lang "
                    "ORDER BY lang" % where, out.sort_values("lang"))
        if kind == "top":
            limit, skip = draw.randrange(1, 12), draw.randrange(3)
            out = kept.dropna(subset=["n"]).sort_values(
                ["n", "key"], ascending=[False, True])
            return ("SELECT n, key FROM (FROM v%s) WHERE n IS NOT NULL ORDER BY n "
                    "DESC, key LIMIT %d OFFSET %d" % (where, limit, skip),
                    out[["n", "key"]].iloc[skip:skip + limit])
        if kind == "join":
            sql, right = self.filter(draw, frame, "b.")
            out = kept.merge(right[["key", "lang"]], on="key",
                             suffixes=("", "_b"))
            return ("SELECT a.key, b.lang FROM (FROM v%s) a JOIN v b USING (key) "
                    "WHERE %s ORDER BY a.key" % (where, sql),
                    out[["key", "lang_b"]].sort_values("key"))
        if kind == "distinct":
            out = kept[["lang"]].dropna().drop_duplicates()
            return ("SELECT DISTINCT lang FROM (FROM v%s) WHERE lang IS NOT NULL "
                    "ORDER BY lang" % where, out.sort_values("lang"))
        if kind == "cast":
            out = kept.dropna(subset=["n"]).sort_values("key")
            return ("SELECT key, n::VARCHAR, n::DOUBLE / 2 FROM (FROM v%s) WHERE n "
                    "IS NOT NULL ORDER BY key" % where,
                    pandas.DataFrame({"k": out["key"],
                                      "t": out["n"].astype(str),
                                      "h": out["n"].astype("Float64") / 2}))
        return ("SELECT count(*), count(n), count(DISTINCT lang) FROM v%s" % where,
                pandas.DataFrame([[len(kept), int(kept["n"].notna().sum()),
                                   int(kept["lang"].nunique())]]))

    @staticmethod
    def plain(frame):
        return [[None if pandas.isna(v) else v.item() if hasattr(v, "item")
                 else v for v in row]
                for row in frame.astype(object).values.tolist()]

    def prepare(self):
        draw = random.Random(SEED)
        self.table("t", "s", "o")
        self.put("t", self.make(draw))
        for key in ("com.2", "de", "org.1"):
            self.ok("table", "split", "t", key)
        self.sql("CREATE VIEW v AS SELECT * FROM quarry('t', columns := "
                 "{'lang': 's:lang', 'n': 's:n::BIGINT', 'x': 's:x::DOUBLE'})")
        return draw, self.exported()

    def test_pandas(self):
        """Filters, groups, order and limit, joins, distinct, casts."""
        draw, frame = self.prepare()
        queries = [self.query(draw, frame) for _ in range(QUERIES)]
        got = self.all_rows(*[q[0] for q in queries])
        for (sql, want), rows in zip(queries, got):
            self.assertEqual(rows, self.plain(want), "seed %d: %s" % (SEED, sql))
        print("%d queries, seed %d" % (QUERIES, SEED))

    def test_sawzall(self):
        """Groups of rows whose key or value is bounded, as Sawzall counts."""
        draw, frame = self.prepare()
        for _ in range(max(4, QUERIES // 12)):
            key = draw.choice(list(frame["key"]))
            n = draw.randrange(-30, 30)
            sql, saw = draw.choice([
                ("key >= '%s'" % key, 'string(r.key) >= "%s"' % key),
                ("key < '%s'" % key, 'string(r.key) < "%s"' % key),
                ("n > %d" % n, "def(v) && int(v, 10) > %d" % n),
                ("n IS NULL", "!def(v)")])
            self.write("p.szl", SAW % saw)
            counted = {"n": {}, "s": {}}
            for line in self.ok("saw", "p.szl", "--table", "t", "--format",
                                "json").splitlines():
                row = json.loads(line)
                counted[row["table"]][row["g"]] = row["value"]
            rows = self.rows("SELECT coalesce(lang, 'none'), count(*), sum(n)"
                             "::BIGINT FROM v WHERE %s GROUP BY 1" % sql)
            self.assertEqual(counted["n"], {r[0]: r[1] for r in rows}, sql)
            self.assertEqual(counted["s"], {r[0]: r[2] for r in rows
                                            if r[2] is not None}, sql)


if __name__ == "__main__":
    main()

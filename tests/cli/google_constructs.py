"""Constructs of GoogleSQL for Bigtable, each with queries and their results. Run
as a program, this prints the table of docs/sql.md; cli/google_sql runs all
queries and compares the table.

The table `t` has the families `cf` and `n`:
    a   cf:x = "old" at 1 ms, "new" at 3 ms; cf:y = "Y"; n:i = 8 bytes of 258
    b   cf:x = "Bx"
    c   cf:y = bytes FF 00
"""

# Construct, {query: rows}, what is special. A query whose result is a text is
# refused with that text in the message.
CONSTRUCTS = [
    ("`SELECT`, `*`, `EXCEPT`, `REPLACE`", {
        "SELECT _key FROM t ORDER BY _key": [["a"], ["b"], ["c"]],
        "SELECT * EXCEPT (cf, n) FROM t WHERE _key = 'b'": [["b"]],
        "SELECT * EXCEPT (n) REPLACE (cf['x'] AS cf) FROM t WHERE _key = 'b'":
            [["b", "Bx"]],
        "SELECT DISTINCT LENGTH(_key) FROM t": [[1]],
    }, ""),
    ("families as `MAP<BYTES, BYTES>`", {
        "SELECT cf['x'] FROM t WHERE _key = 'a'": [["new"]],
        "SELECT cf['none'] IS NULL FROM t WHERE _key = 'a'": [[True]],
        "SELECT cf FROM t WHERE _key = 'b'": [[{"x": "Bx"}]],
        "SELECT cf.x FROM t": "Cannot access field",
    }, "a STRING literal is accepted as a key"),
    ("conditions on `_key`", {
        "SELECT _key FROM t WHERE _key >= 'b' AND _key < 'c'": [["b"]],
        "SELECT _key FROM t WHERE STARTS_WITH(_key, 'c')": [["c"]],
        "SELECT _key FROM t WHERE _key IN ('a', 'zz')": [["a"]],
        "SELECT _key FROM t WHERE _key LIKE 'b%'": [["b"]],
        "SELECT _key FROM t WHERE _key BETWEEN 'a' AND 'b' ORDER BY 1":
            [["a"], ["b"]],
        "SELECT _key FROM t WHERE _key = 'a' AND _key = 'b'": [],
    }, "pushed into the scan"),
    ("`GROUP BY`, `HAVING`, aggregates", {
        "SELECT cf['x'] IS NULL AS m, COUNT(*) AS k FROM t GROUP BY m "
        "ORDER BY m": [[False, 2], [True, 1]],
        "SELECT COUNT(DISTINCT cf['x']), COUNTIF(cf['x'] IS NULL) FROM t":
            [[2, 1]],
        "SELECT SUM(LENGTH(_key)), AVG(2), MAX(_key), MIN(_key) FROM t":
            [[3, 2.0, "c", "a"]],
        "SELECT ARRAY_AGG(_key ORDER BY _key DESC) FROM t": [[["c", "b", "a"]]],
        "SELECT LENGTH(_key) AS l FROM t GROUP BY l HAVING COUNT(*) > 5": [],
    }, ""),
    ("`ORDER BY`, `LIMIT`, `OFFSET`", {
        "SELECT _key FROM t ORDER BY _key DESC LIMIT 1 OFFSET 1": [["b"]],
        "SELECT _key FROM t ORDER BY cf['x'], _key": [["c"], ["b"], ["a"]],
    }, "NULL first"),
    ("`FROM (query)`", {
        "SELECT k FROM (SELECT _key AS k FROM t) AS s WHERE s.k > 'b'":
            [["c"]],
    }, ""),
    ("`t(with_history => TRUE)`", {
        "SELECT ARRAY_LENGTH(cf['x']) FROM t(with_history => TRUE) "
        "WHERE _key = 'a'": [[2]],
        "SELECT cf['x'][OFFSET(1)].value FROM t(with_history => TRUE) "
        "WHERE _key = 'a'": [["old"]],
        "SELECT UNIX_MILLIS(cf['x'][SAFE_ORDINAL(1)].timestamp) "
        "FROM t(with_history => TRUE) WHERE _key = 'a'": [[3]],
        "SELECT ARRAY_LENGTH(cf['x']) FROM t(with_history => TRUE, "
        "latest_n => 1) WHERE _key = 'a'": [[1]],
        "SELECT cf['x'][OFFSET(0)].value FROM t(with_history => TRUE, "
        "before => TIMESTAMP_MILLIS(3)) WHERE _key = 'a'": [["old"]],
        "SELECT ARRAY_TRANSFORM(cf['x'], e -> e.value) FROM "
        "t(with_history => TRUE, after_or_equal => TIMESTAMP_MILLIS(1), "
        "before_or_equal => TIMESTAMP_MILLIS(3)) WHERE _key = 'a'":
            [[["new", "old"]]],
        "SELECT cf['x'][OFFSET(0)].value FROM t(with_history => TRUE, "
        "after => TIMESTAMP_MILLIS(1)) WHERE _key = 'a'": [["new"]],
    }, "`after`, `after_or_equal`, `before`, `before_or_equal`, `latest_n`"),
    ("`t(as_of => …)`", {
        "SELECT cf['x'] FROM t(as_of => TIMESTAMP_MILLIS(2)) WHERE _key = 'a'":
            [["old"]],
    }, ""),
    ("`UNPACK`", {
        "SELECT v, UNIX_MILLIS(_timestamp) FROM UNPACK((SELECT cf['x'] AS v "
        "FROM t(with_history => TRUE) WHERE _key = 'a')) ORDER BY 2":
            [["old", 1], ["new", 3]],
    }, "of columns with history"),
    ("`UNNEST` in `FROM`", {
        "SELECT k FROM t, UNNEST(MAP_KEYS(cf)) AS k WHERE _key = 'a' ORDER BY k":
            [["x"], ["y"]],
        "SELECT e FROM UNNEST([1, 2]) AS e ORDER BY e": [[1], [2]],
    }, "without `WITH OFFSET`"),
    ("literals, `CAST`, `SAFE_CAST`", {
        "SELECT 1, 0x10, 1.5, 'x', b'\\x41', TRUE, NULL, [1, 2]":
            [[1, 16, 1.5, "x", "A", True, None, [1, 2]]],
        "SELECT CAST(cf['x'] AS STRING) || '!' FROM t WHERE _key = 'b'":
            [["Bx!"]],
        "SELECT SAFE_CAST('x' AS INT64), CAST('12' AS INT64), "
        "CAST(2.5 AS INT64)": [[None, 12, 3]],
        "SELECT SAFE_CAST(cf['y'] AS STRING) FROM t WHERE _key = 'c'": [[None]],
        "SELECT CAST('1.5' AS INT64)": "Bad INT64 value",
        "SELECT CAST(DATE '2024-02-03' AS STRING)": [["2024-02-03"]],
    }, ""),
    ("operators, `CASE`, `IF`", {
        "SELECT 7 / 2, DIV(7, 2), MOD(7, 2), 1 << 3, 6 & 3, 6 | 1, 6 ^ 3":
            [[3.5, 3, 1, 8, 2, 7, 5]],
        "SELECT 1 / 0": "division by zero",
        "SELECT IF(TRUE, 1, 2), COALESCE(NULL, 3), IFNULL(NULL, 4), "
        "NULLIF(1, 1)": [[1, 3, 4, None]],
        "SELECT CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END, CASE 2 WHEN 2 THEN 'c' "
        "END": [["b", "c"]],
        "SELECT 'abc' LIKE 'a%', 'a%c' LIKE 'a\\\\%c', 2 IN (1, 2), "
        "NOT 2 BETWEEN 3 AND 4, 1 IS NOT NULL, 2 IN UNNEST([2])":
            [[True, True, True, True, True, True]],
    }, ""),
    ("functions of texts and bytes", {
        "SELECT UPPER('ä'), SUBSTR('hello', 2, 3), LEFT('abc', 2), "
        "REPLACE('aba', 'a', 'c'), TRIM('  x '), LPAD('7', 3, '0')":
            [["Ä", "ell", "ab", "cbc", "x", "007"]],
        "SELECT LENGTH(cf['y']), TO_HEX(cf['y']), TO_HEX(REVERSE(cf['y'])), "
        "TO_HEX(SUBSTR(cf['y'], 2)) FROM t WHERE _key = 'c'":
            [[2, "ff00", "00ff", "00"]],
        "SELECT REGEXP_EXTRACT('ab12', r'([0-9]+)'), REGEXP_CONTAINS('ab', "
        "'^a'), REGEXP_REPLACE('aXb', 'X', '-'), REGEXP_EXTRACT('a', 'b')":
            [["12", True, "a-b", None]],
        "SELECT SPLIT('a,b'), CONCAT('a', 'b'), STRPOS('abc', 'c'), "
        "STARTS_WITH('ab', 'a'), CHAR_LENGTH('ä'), BYTE_LENGTH('ä')":
            [[["a", "b"], "ab", 3, True, 1, 2]],
        "SELECT TO_HEX(MD5('')), TO_BASE64(b'abc'), FROM_HEX('41')":
            [["d41d8cd98f00b204e9800998ecf8427e", "YWJj", "A"]],
    }, "BYTES byte by byte"),
    ("functions of maps and arrays", {
        "SELECT MAP_KEYS(cf), MAP_CONTAINS_KEY(cf, 'x'), MAP_EMPTY(n) FROM t "
        "WHERE _key = 'b'": [[["x"], True, True]],
        "SELECT MAP_VALUES(cf), MAP_ENTRIES(cf)[OFFSET(0)].key FROM t "
        "WHERE _key = 'a'": [[["new", "Y"], "x"]],
        "SELECT ARRAY_LENGTH([1, 2]), ARRAY_FILTER([1, 2, 3], e -> e > 1), "
        "ARRAY_FIRST([4]), ARRAY_CONCAT([1], [2]), ARRAY_REVERSE([1, 2]), "
        "ARRAY_TO_STRING(['a', 'b'], '-'), ARRAY_INCLUDES([1], 1)":
            [[2, [2, 3], 4, [1, 2], [2, 1], "a-b", True]],
        "SELECT [1, 2][OFFSET(2)]": "Array index is out of bounds",
    }, ""),
    ("numbers in 8 bytes", {
        "SELECT TO_INT64(n['i']) FROM t WHERE _key = 'a'": [[258]],
        "SELECT TO_INT64(b'x')": "take 8 bytes",
    }, "`TO_INT64`, `TO_FLOAT64`, `TO_FLOAT32`"),
    ("functions of numbers", {
        "SELECT ABS(-2), ROUND(2.567, 1), FLOOR(1.5), CEIL(1.5), SQRT(9), "
        "POW(2, 3), GREATEST(1, 3), LEAST(2, NULL), SIGN(-5)":
            [[2, 2.6, 1.0, 2.0, 3.0, 8.0, 3, None, -1]],
        "SELECT SAFE_DIVIDE(1, 0), LOG(8, 2), IS_NAN(1.0)":
            [[None, 3.0, False]],
    }, ""),
    ("functions of times", {
        "SELECT EXTRACT(YEAR FROM DATE '2024-02-03'), "
        "DATE_DIFF(DATE '2024-02-03', DATE '2024-02-01', DAY), "
        "UNIX_SECONDS(TIMESTAMP '1970-01-01 00:01:00'), "
        "EXTRACT(DAYOFWEEK FROM DATE '2024-02-04')": [[2024, 2, 60, 1]],
        "SELECT CAST(DATE_ADD(DATE '2024-01-31', INTERVAL 1 MONTH) AS STRING), "
        "FORMAT_TIMESTAMP('%F %T', TIMESTAMP_SECONDS(0))":
            [["2024-02-29", "1970-01-01 00:00:00"]],
        "SELECT UNIX_MICROS(TIMESTAMP_TRUNC(TIMESTAMP_MICROS(3600000001), "
        "HOUR)), TIMESTAMP_DIFF(TIMESTAMP_SECONDS(90), TIMESTAMP_SECONDS(0), "
        "MINUTE)": [[3600000000, 1]],
    }, "in UTC"),
    ("functions of JSON", {
        "SELECT JSON_VALUE('{\"a\": {\"b\": \"c\"}}', '$.a.b'), "
        "JSON_QUERY('{\"a\": [1]}', '$.a')": [["c", "[1]"]],
    }, ""),
    ("`STRUCT`", {
        "SELECT STRUCT(1 AS a, 'x' AS b).b": [["x"]],
    }, "without types"),
    ("`SAFE.` before a function", {
        "SELECT SAFE.FROM_HEX('zz')": [[None]],
    }, ""),
    ("joins, `UNION`, `WITH`, subqueries as expressions, windows", {
        "SELECT 1 FROM t JOIN t ON TRUE": "JOIN is not supported",
        "SELECT 1 UNION ALL SELECT 2": "UNION",
        "WITH a AS (SELECT 1) SELECT * FROM a": "WITH",
        "SELECT (SELECT 1)": "subquery",
        "SELECT SUM(1) OVER () FROM t": "window",
    }, "Bigtable has none of them"),
    ("`FARM_FINGERPRINT`, `SHA512`, `HLL_COUNT.…`", {
        "SELECT FARM_FINGERPRINT('a')": "FARM_FINGERPRINT",
        "SELECT SHA512('a')": "SHA512",
        "SELECT HLL_COUNT.INIT(1)": "HLL_COUNT.INIT",
    }, "DuckDB has none of them"),
]


def table():
    lines = ["| construct | state | |", "|---|---|---|"]
    for name, queries, note in CONSTRUCTS:
        works = any(not isinstance(rows, str) for rows in queries.values())
        lines.append("| %s | %s | %s |" % (name, "yes" if works else "no",
                                           note))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")

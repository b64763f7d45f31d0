"""Constructs of SQL over tables of Quarry, each with a statement that shows its
state. Run as a program, this prints the table of docs/sql.md; cli/sql runs all
statements and compares the table."""

# Construct, statement, what is special (of one that does not work: why). A
# statement that begins with "!" fails.
CONSTRUCTS = [
    ("`FROM table`, columns, expressions", "SELECT key, contents['lang'] FROM web", ""),
    ("`WHERE` on the key", "FROM web WHERE key >= 'a' AND key LIKE 'com.%'", "pushed into the scan"),
    ("`WHERE` on values", "FROM web WHERE contents['lang'] = 'de'", "only families that are read"),
    ("`LIMIT` alone", "FROM web LIMIT 1", "pushed; in the order of the keys"),
    ("`ORDER BY`, top ten", "SELECT key FROM web ORDER BY key DESC LIMIT 10", ""),
    ("`GROUP BY`, `HAVING`, aggregates", "SELECT contents['lang'] AS l, count(*) FROM web GROUP BY l HAVING count(*) > 0", ""),
    ("windows", "SELECT key, row_number() OVER (ORDER BY key) FROM web", ""),
    ("joins of tables", "SELECT a.key FROM web a JOIN web b USING (key)", "each table's own bounds pushed"),
    ("subqueries, `WITH`, `UNION`", "WITH w AS (SELECT key FROM web) SELECT key FROM w UNION SELECT 'x'", ""),
    ("files of Parquet, CSV, JSON", "SELECT count(*) FROM 'names.csv' n, web", ""),
    ("columns with types", "FROM quarry('web', columns := {'n': 'stats:n::BIGINT'})", ""),
    ("cells and versions", "FROM quarry_cells('web')", ""),
    ("ranges of time", "FROM quarry('web', time_from := TIMESTAMP '2020-01-01')", "by parameters"),
    ("programs beside the rows", "FROM quarry('web', program := 'r: Row = input; emit keep <- r;')", "by parameters"),
    ("another store in the same statement", "FROM quarry('web', target := 'file:quarry-data')", ""),
    ("`EXPLAIN`, `EXPLAIN ANALYZE`", "EXPLAIN ANALYZE SELECT count(*) FROM web", "with a line a scan"),
    ("`COPY (…) TO`", "COPY (SELECT key FROM web) TO 'o.parquet'", "Parquet, CSV, JSON"),
    ("`INSERT INTO table SELECT`, `VALUES`", "INSERT INTO web SELECT 'i' AS key, 1 AS \"stats:n\"", "rows atomic, the statement not"),
    ("`DELETE FROM table`", "DELETE FROM web WHERE key = 'i'", "as above"),
    ("`CREATE VIEW`, `DROP VIEW`", "CREATE OR REPLACE VIEW vv AS FROM web", "kept in the store"),
    ("tables of DuckDB", "CREATE TABLE d AS SELECT key FROM web", "in memory, gone at the end"),
    ("`DESCRIBE`, `SUMMARIZE`", "SUMMARIZE (SELECT key FROM web)", ""),
    ("`INSERT … RETURNING`", "!INSERT INTO web (key, \"stats:n\") VALUES ('a', '1') RETURNING key", "a table of Quarry returns nothing"),
    ("`UPDATE table`", "!UPDATE web SET stats = NULL", "`INSERT` writes over what is there"),
    ("`CREATE TABLE` of Quarry", "!CREATE TABLE sql_views.x AS SELECT 1", "`quarry table create`"),
    ("transactions over tables of Quarry", "BEGIN TRANSACTION", "of DuckDB's own tables alone"),
]


def table():
    lines = ["| construct | state | |", "|---|---|---|"]
    for name, statement, note in CONSTRUCTS:
        state = "no" if statement.startswith("!") else "yes"
        lines.append("| %s | %s | %s |" % (name, state, note))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")

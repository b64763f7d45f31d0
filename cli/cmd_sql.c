/* quarry sql: statements of SQL over tables, files and both. DuckDB is wanted
 * when the tree is built, for its headers, and when the command runs; without
 * the first, the command only says so.
 */
#include "cli/cli.h"
#include "cli/command.h"
#ifdef QUARRY_HAVE_SQL
#include "cli/sql_shell.h"
#endif

static int run_sql(struct cli *cli, const struct args *args, struct err *err)
{
#ifdef QUARRY_HAVE_SQL
    return sql_shell_run(cli, args, err);
#else
    (void)cli;
    (void)args;
    err_set(err, ERR_UNSUPPORTED, "sql: this quarry was built without DuckDB");
    err_hint(err, "run scripts/deps sql, then cmake and the build again");
    return ERR_UNSUPPORTED;
#endif
}

static const struct option sql_options[] = {
    {"command", 'c', "SQL", "run these statements, and end"},
    {"format", 0, "FORMAT",
     "aligned (default), csv, json (an array), jsonl (a line a row);\n"
     "of one query: parquet, arrow (a file), arrows (a stream)"},
    {"output", 'o', "FILE", "write Parquet or Arrow to FILE"},
    {"dialect", 0, "NAME",
     "duckdb (default), or google: queries as Cloud Bigtable takes them"},
    {"timing", 0, NULL, "say how long each statement took"},
    {NULL, 0, NULL, NULL},
};

const struct command sql_commands[] = {
    {.name = "sql",
     .arguments = "[FILE]",
     .summary = "Ask in SQL, with DuckDB",
     .details =
         "Tables are relations: key, and each family as a MAP of qualifiers\n"
         "to the newest values; quarry_cells('t') has a row a cell, and\n"
         "quarry('t', columns := {…}) columns with types. Files of Parquet,\n"
         "CSV and JSON can be joined. INSERT, DELETE and CREATE VIEW change\n"
         "the store.\n\n"
         "Statements are read from FILE, from standard input, or typed: .help\n"
         "lists what a shell has besides. DuckDB is loaded from\n"
         "$QUARRY_DUCKDB, or from where scripts/deps sql put it.",
     .examples =
         "quarry sql -c \"SELECT count(*) FROM webtable WHERE key LIKE 'c%'\"\n"
         "quarry sql report.sql --format csv\n"
         "quarry sql -c 'FROM webtable' --format arrow -o pages.arrow\n"
         "quarry -t host:7400 sql",
     .words_max = 1,
     .own_format = true,
     .options = {sql_options},
     .run = run_sql},
    {.name = NULL},
};

/* Results of SQL that are a file of one query: Parquet, which DuckDB writes by
 * a COPY, and Arrow, which is written here.
 *
 * Threads: one.
 */
#ifndef CLI_SQL_RESULT_FILE_H
#define CLI_SQL_RESULT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/sql/sql_batch.h"
#include "cli/arrow_file.h"
#include "cli/output_file.h"
#include "cli/sql_printer.h"

struct world;

struct sql_result_file {
    struct world *world; /* Borrowed; Arrow may go to names mounted in it. */
    const char *path;    /* Borrowed; NULL: standard output. */
    bool written;        /* One result fits a file. */
    bool is_arrow;       /* Of the query that runs. */
    bool open;
    struct output_file out;
    struct arrow_file arrow;
    uint64_t row_count;
};

/* The format named @word. Errors: ERR_USAGE. */
MUST_CHECK int
sql_format_parse(const char *word, enum sql_format *out, struct err *err);

/* Is the statement a query, whose result can be a file? */
bool sql_is_query(struct slice text);

/* Before query *@text runs: it may become another, kept in @copy, and *@sink is
 * set. Errors: ERR_INVALID (the second result, a terminal). */
MUST_CHECK int sql_result_file_begin(struct sql_result_file *f,
                                     enum sql_format format,
                                     struct slice *text,
                                     struct buf *copy,
                                     struct sql_sink *sink,
                                     struct err *err);
/* It ended with @code: the file takes its name, or nothing is left of it.
 * *@rows gets the number of rows, of Arrow. Returns @code or what went wrong
 * here. */
MUST_CHECK int sql_result_file_end(struct sql_result_file *f,
                                   int code,
                                   uint64_t *rows,
                                   struct err *err);

#endif /* CLI_SQL_RESULT_FILE_H */

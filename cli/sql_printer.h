/* Results of SQL on standard output: aligned, CSV, JSON or JSON lines. Rows are
 * written as they come.
 *
 * Threads: one.
 */
#ifndef CLI_SQL_PRINTER_H
#define CLI_SQL_PRINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "bigtable/sql/sql_batch.h"
#include "cli/table_printer.h"

enum sql_format {
    SQL_ALIGNED,
    SQL_CSV,
    SQL_JSON, /* An array a result. */
    SQL_JSON_LINES,
    SQL_PARQUET, /* These are files of one query (sql_result_file.h). */
    SQL_ARROW,
    SQL_ARROW_STREAM,
};

struct sql_printer {
    enum sql_format format;
    struct sheet sheet; /* Of SQL_ALIGNED. */
    bool in_sheet;
    char **names; /* Owned, of the result's columns. */
    enum sql_shape *shapes;
    size_t column_count;
    bool has_rows;
    bool is_plan; /* Of EXPLAIN. */
    uint64_t row_count;
    struct buf line;
    struct buf cell;
};

/* A printer of @format. sql_printer_close(). */
void sql_printer_init(struct sql_printer *p, enum sql_format format);
/* The sink of the next statement. */
struct sql_sink sql_printer_sink(struct sql_printer *p);
/* The statement has ended, well or not: print what is left of its result. */
void sql_printer_end(struct sql_printer *p, bool well);
void sql_printer_close(struct sql_printer *p);

#endif /* CLI_SQL_PRINTER_H */

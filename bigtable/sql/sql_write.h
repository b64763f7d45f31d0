/* Rows of a result written to a table: INSERT and DELETE.
 *
 * Columns of the result are meant by their names: `key`; a family, of which a
 * MAP gives the columns; and "family:qualifier". A result with `key`, `family`,
 * `qualifier`, `value` and perhaps `timestamp` has a row a cell. NULL writes
 * nothing. Texts and BLOBs are written as their bytes, other values as DuckDB
 * prints them.
 *
 * Rows are applied in batches: each row is atomic, the statement is not.
 */
#ifndef BIGTABLE_SQL_SQL_WRITE_H
#define BIGTABLE_SQL_SQL_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/sql/sql_batch.h"

struct quarry;
struct sql_writer;

/* Begin to write to table @name of @q (borrowed); @delete: to delete the rows
 * whose keys are in the first column. @columns may be NULL: the result's own
 * names count. They are borrowed until the end. Owned. ERR_NOTFOUND. */
MUST_CHECK int sql_writer_open(struct quarry *q,
                               const char *name,
                               bool delete,
                               const char *const *columns,
                               size_t column_count,
                               struct sql_writer **out,
                               struct err *err);
/* The sink of the statement whose rows are written. */
struct sql_sink sql_writer_sink(struct sql_writer *w);
/* Write what is left, unless @code is an error, and free. *@rows counts what
 * was written. Returns @code, or what went wrong. */
MUST_CHECK int sql_writer_close(struct sql_writer *w,
                                int code,
                                uint64_t *rows,
                                struct err *err);

#endif /* BIGTABLE_SQL_SQL_WRITE_H */

/* A materialized view of the store as a relation: quarry('view'), whose columns
 * are those of the view, read row by row. "view.table" is a table of a view's
 * program.
 *
 * Threads: a scan is one thread's.
 */
#ifndef BIGTABLE_SQL_SQL_KEPT_H
#define BIGTABLE_SQL_SQL_KEPT_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/sql/duckdb_api.h"

struct quarry;
struct sql_kept;
struct sql_stores;

/* The columns of view @name of @q; *@out is owned: sql_kept_free(). Errors: as
 * quarry_view_scan_open(). */
MUST_CHECK int sql_kept_open(struct quarry *q,
                             struct sql_stores *stores,
                             const char *name,
                             struct sql_kept **out,
                             struct err *err);
void sql_kept_free(struct sql_kept *k); /* NULL is allowed. */
/* Is there such a view? */
bool sql_kept_is(struct quarry *q, const char *name);

/* Add the columns to what DuckDB binds, and a note for EXPLAIN. */
void sql_kept_bind(const struct sql_kept *k, duckdb_bind_info info);
/* Callbacks of the table function, in place of those of tables. */
void sql_kept_begin(const struct sql_kept *k, duckdb_init_info info);
void sql_kept_rows(duckdb_function_info info, duckdb_data_chunk out);

#endif /* BIGTABLE_SQL_SQL_KEPT_H */

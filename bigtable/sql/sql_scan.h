/* The scan of a relation, as DuckDB calls it: once for a statement, once for
 * each thread, and then for a batch of rows at a time.
 *
 * The rows are cut at the split points of the table; each thread takes the next
 * piece. Only columns that the statement reads are filled.
 */
#ifndef BIGTABLE_SQL_SQL_SCAN_H
#define BIGTABLE_SQL_SQL_SCAN_H

#include "base/core/err.h"
#include "bigtable/sql/duckdb_api.h"

struct arena;

/* Callbacks of the table functions; the bind data is a struct sql_relation. */
void sql_scan_begin(duckdb_init_info info);
void sql_scan_begin_thread(duckdb_init_info info);
void sql_scan_rows(duckdb_function_info info, duckdb_data_chunk out);

/* *@out is @err's text with its hint, in @arena. */
void sql_scan_fail_text(const struct err *err,
                        struct arena *arena,
                        const char **out);

#endif /* BIGTABLE_SQL_SQL_SCAN_H */

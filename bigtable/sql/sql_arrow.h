/* Results as Arrow's columns: DuckDB makes them of its own, without a copy
 * where their forms are the same. The functions are in the library and not in
 * version 1.2.0 of the API's table; a library before 1.4 lacks them.
 *
 * Threads: those of the statement's caller.
 */
#ifndef BIGTABLE_SQL_SQL_ARROW_H
#define BIGTABLE_SQL_SQL_ARROW_H

#include "base/core/arrow_abi.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/sql/duckdb_api.h"

/* Find the functions in @library; it may have none of them. */
void sql_arrow_load(void *library);

/* The columns of @result; the caller releases *@out. Errors: ERR_UNSUPPORTED
 * (the library has no such functions, or Arrow no such type). */
MUST_CHECK int sql_arrow_columns(duckdb_result *result,
                                 struct ArrowSchema *out,
                                 struct err *err);
/* The rows of @chunk, of @result; the caller releases *@out. */
MUST_CHECK int sql_arrow_rows(duckdb_result *result,
                              duckdb_data_chunk chunk,
                              struct ArrowArray *out,
                              struct err *err);

#endif /* BIGTABLE_SQL_SQL_ARROW_H */

/* quarry('store', 'table', …) in a statement: DuckDB takes one form of a
 * function by its C API, which in a process with a store of its own is
 * quarry('table', …). The other becomes it before anything else looks at the
 * statement, so that the same statement runs here and in another DuckDB.
 */
#ifndef BIGTABLE_SQL_SQL_STORE_FIRST_H
#define BIGTABLE_SQL_SQL_STORE_FIRST_H

#include <stdbool.h>

#include "base/core/slice.h"

struct buf;

/* Append to @out the statement @sql, in which quarry('s', 't' is
 * quarry('t', target := 's', and the same of quarry_cells(). False: there is no
 * such call, and @out is as before. */
bool sql_store_first(struct slice sql, struct buf *out);

#endif /* BIGTABLE_SQL_SQL_STORE_FIRST_H */

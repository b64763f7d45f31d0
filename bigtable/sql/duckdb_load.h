/* Loading libduckdb.so into this process.
 *
 * Threads: one; before any other function of this room.
 */
#ifndef BIGTABLE_SQL_DUCKDB_LOAD_H
#define BIGTABLE_SQL_DUCKDB_LOAD_H

#include "base/core/err.h"
#include "base/core/macros.h"

/* Load the library at @path and fill duckdb_ext_api; it stays loaded. Does
 * nothing the second time. Errors: ERR_NOTFOUND (nothing that can be loaded is
 * there), ERR_UNSUPPORTED (it lacks a function; names it). */
MUST_CHECK int duckdb_load(const char *path, struct err *err);

#endif /* BIGTABLE_SQL_DUCKDB_LOAD_H */

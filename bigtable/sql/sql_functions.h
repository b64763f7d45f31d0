/* The functions that a connection of DuckDB gets: the table functions quarry()
 * and quarry_cells(), and, in a process that has a store of its own, the names
 * of its tables as relations.
 */
#ifndef BIGTABLE_SQL_SQL_FUNCTIONS_H
#define BIGTABLE_SQL_SQL_FUNCTIONS_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/sql/duckdb_api.h"

struct sql_stores;

/* Register the table functions at @connection's database: quarry(table, …), or
 * with @store_first quarry(store, table, …). @stores is borrowed and outlives
 * the database. ERR_INVALID (DuckDB does not take one). */
MUST_CHECK int sql_functions_register(duckdb_connection connection,
                                      struct sql_stores *stores,
                                      bool store_first,
                                      struct err *err);
/* Let `FROM name` mean quarry('name') where DuckDB itself knows no such table.
 */
void sql_functions_replace(duckdb_database database, struct sql_stores *stores);

#endif /* BIGTABLE_SQL_SQL_FUNCTIONS_H */

/* DuckDB's C API: its functions are pointers of one table, duckdb_ext_api, so
 * that the same code runs in `quarry sql`, which fills the table from the
 * library that it loads (duckdb_load.h), and as an extension that a DuckDB
 * loads, which gets the table from it (duckdb_extension.c).
 *
 * Only version 1.2.0 of the API is used: any DuckDB from 1.2 on has it, with
 * the same layout.
 */
#ifndef BIGTABLE_SQL_DUCKDB_API_H
#define BIGTABLE_SQL_DUCKDB_API_H

#define DUCKDB_EXTENSION_API_VERSION_MAJOR 1
#define DUCKDB_EXTENSION_API_VERSION_MINOR 2
#define DUCKDB_EXTENSION_API_VERSION_PATCH 0

#include <duckdb_extension.h>

DUCKDB_EXTENSION_EXTERN

#endif /* BIGTABLE_SQL_DUCKDB_API_H */

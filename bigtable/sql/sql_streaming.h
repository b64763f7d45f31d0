/* The function that starts a statement whose result is handed out while it is
 * computed. It is in the library and not in version 1.2.0 of the API's table.
 */
#ifndef BIGTABLE_SQL_SQL_STREAMING_H
#define BIGTABLE_SQL_SQL_STREAMING_H

#include "bigtable/sql/duckdb_api.h"

typedef duckdb_state (*sql_streaming_fn)(duckdb_prepared_statement statement,
                                         duckdb_pending_result *out);

/* Set by duckdb_load(). */
extern sql_streaming_fn sql_streaming;

#endif /* BIGTABLE_SQL_SQL_STREAMING_H */

/* The entry of quarry.duckdb_extension: LOAD in anyone's DuckDB makes it know
 * quarry() and quarry_cells(). A call names its store, since the process has
 * none of its own, and it comes first: quarry('cluster:…', 'webtable').
 *
 * DuckDB never unloads an extension, and there is no call at its end: stores
 * that were opened stay open to the end of the process.
 */
#include <stdbool.h>

#include "base/core/err.h"
#include "bigtable/sql/duckdb_api.h"
#include "bigtable/sql/sql_functions.h"
#include "bigtable/sql/sql_stores.h"

/* Any DuckDB that has this version of its C API takes the extension. */
#define EXTENSION_API_VERSION "v1.2.0"

DUCKDB_EXTENSION_GLOBAL

/* Called once by a process's LOAD, by its name. False: @access was told why. */
DUCKDB_CAPI_ENTRY_VISIBILITY bool
quarry_init_c_api(duckdb_extension_info info,
                  struct duckdb_extension_access *access);

bool quarry_init_c_api(duckdb_extension_info info,
                       struct duckdb_extension_access *access)
{
    const duckdb_ext_api_v1 *api = access->get_api(info, EXTENSION_API_VERSION);
    duckdb_database *database;
    duckdb_connection connection;
    struct err err = ERR_INIT;
    int rc;
    if (!api)
        return false; /* DuckDB has its own words for that. */
    duckdb_ext_api = *api;
    database = access->get_database(info);
    if (!database || duckdb_connect(*database, &connection) != DuckDBSuccess) {
        access->set_error(info, "quarry: no connection to the database");
        return false;
    }
    rc = sql_functions_register(connection, sql_stores_new(NULL, NULL), true,
                                &err);
    duckdb_disconnect(&connection);
    if (rc)
        access->set_error(info, err.text);
    return rc == 0;
}

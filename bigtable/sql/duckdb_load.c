/* Fills the table of DuckDB's functions from a shared library. The names and
 * their places are generated from duckdb_extension.h when the tree is
 * configured, so that none can be forgotten. The few functions that are in the
 * library and not in the table (sql_streaming, sql_arrow) are looked up beside
 * them.
 */
#include "bigtable/sql/duckdb_load.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "bigtable/sql/duckdb_api.h"
#include "bigtable/sql/sql_arrow.h"
#include "bigtable/sql/sql_streaming.h"

DUCKDB_EXTENSION_GLOBAL

sql_streaming_fn sql_streaming;

/* From here on the names are not macros: this defines duckdb_names[]. */
#include "bigtable/sql/duckdb_names.h"

static int find_function(void *library,
                         const char *path,
                         const char *name,
                         void *out,
                         struct err *err)
{
    void *function = dlsym(library, name);
    if (!function)
        return err_set(err, ERR_UNSUPPORTED, "%s: it has no function %s", path,
                       name);
    memcpy(out, &function, sizeof(function));
    return 0;
}

int duckdb_load(const char *path, struct err *err)
{
    static bool loaded;
    void *library;
    int rc = 0;
    if (loaded)
        return 0;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        err_set(err, ERR_NOTFOUND, "DuckDB: %s", dlerror());
        err_hint(err, "scripts/deps sql fetches it; $QUARRY_DUCKDB may name "
                      "another libduckdb.so");
        return ERR_NOTFOUND;
    }
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(duckdb_names); i++)
        rc = find_function(library, path, duckdb_names[i].name,
                           (char *)&duckdb_ext_api + duckdb_names[i].offset,
                           err);
    if (rc == 0)
        rc = find_function(library, path, "duckdb_pending_prepared_streaming",
                           &sql_streaming, err);
    if (rc)
        dlclose(library);
    else
        sql_arrow_load(library);
    loaded = rc == 0;
    return rc;
}

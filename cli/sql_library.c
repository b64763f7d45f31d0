/* The places where DuckDB's library may be, in their order; the first file
 * that is there is taken. It is loaded at run time, because it is larger than
 * all of Quarry. */
#include "cli/sql_library.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"

static bool offer_path(struct buf *out, const char *top, const char *rest)
{
    PRE(rest);
    buf_clear(out);
    if (!top || !*top)
        return false;
    buf_printf(out, "%s%s", top, rest);
    return access(buf_cstr(out), R_OK) == 0;
}

void sql_library_find(struct buf *out)
{
    const char *named = getenv("QUARRY_DUCKDB");
    if (named && *named) {
        buf_append_str(out, named);
        return;
    }
    if (offer_path(out, getenv("QUARRY_SQL_CACHE"),
                   "/" QUARRY_DUCKDB_VERSION "/libduckdb.so") ||
        offer_path(out, getenv("HOME"),
                   "/.cache/quarry/duckdb/" QUARRY_DUCKDB_VERSION
                   "/libduckdb.so"))
        return;
    buf_clear(out);
    buf_append_str(out, "libduckdb.so");
}

/* The engine of the public API's queries: DuckDB, whose library is looked for
 * where `quarry sql` looks for it, within the memory that the gateway's
 * section grants. */
#include "cli/sql_service.h"

#include "base/core/buf.h"
#include "base/core/text.h"
#include "bigtable/sql/sql_engine.h"
#include "cli/sql_library.h"

/* With less, DuckDB does not begin. */
#define QUERY_MEMORY_MIN (UINT64_C(16) << 20)

int sql_service_open(const char *memory,
                     struct gsql_engine **out,
                     struct err *err)
{
    struct buf library = BUF_INIT;
    struct sql_engine_options o = {.memory_bytes = 0};
    int rc = 0;
    if (memory)
        rc = text_parse_bytes(slice_str(memory), &o.memory_bytes, err);
    if (rc == 0 && memory && o.memory_bytes < QUERY_MEMORY_MIN)
        rc = err_set(err, ERR_INVALID, "less than %u MiB",
                     (unsigned)(QUERY_MEMORY_MIN >> 20));
    if (rc)
        return rc;
    sql_library_find(&library);
    o.library = buf_cstr(&library);
    *out = sql_engine_new(&o);
    buf_close(&library);
    return 0;
}

void sql_service_close(struct gsql_engine *engine)
{
    sql_engine_free(engine);
}

/* An engine executes translated queries. The gateway knows this alone; one
 * (bigtable/sql, with DuckDB) is given to it when it is opened.
 *
 * Threads: any may begin a query; then a query belongs to one caller at a time,
 * but for interrupt().
 */
#ifndef BIGTABLE_GOOGLESQL_GSQL_ENGINE_H
#define BIGTABLE_GOOGLESQL_GSQL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_type.h"

struct gsql_result;
struct quarry;

/* Receives the values of a row in the order of its columns. The entries of a
 * MAP come as STRUCTs of a key and a value. */
struct gsql_sink {
    void *ctx;
    void (*null)(void *ctx);
    /* BOOL, INT64, DATE (days since 1970), TIMESTAMP (µs since 1970). */
    void (*integer)(void *ctx, enum gsql_kind kind, int64_t v);
    void (*real)(void *ctx, double v); /* FLOAT32, FLOAT64. */
    /* STRING, BYTES; borrowed during the call. */
    void (*bytes)(void *ctx, enum gsql_kind kind, struct slice s);
    void (*open)(void *ctx, enum gsql_kind kind); /* ARRAY, STRUCT, MAP. */
    void (*close)(void *ctx);
};

/* A query that runs. */
struct gsql_rows;

struct gsql_engine {
    void *ctx;
    /* Can queries be executed? Loads what they need. Errors: ERR_NOTFOUND (it
     * is not installed; the hint says how it is), ERR_UNSUPPORTED. */
    int (*ready)(void *ctx, struct err *err);
    /* A query that does nothing yet: begin(), next() any number of times,
     * end(). Owned. */
    struct gsql_rows *(*open)(void *ctx);
    /* Begin the query @sql, which gsql_put_cast() made of @result, on tables of
     * @q. These two outlive the query; @sql does not. May take as long as the
     * whole query does. Errors: as next(). */
    int (*begin)(struct gsql_rows *rows,
                 struct quarry *q,
                 struct slice sql,
                 const struct gsql_result *result,
                 struct err *err);
    /* Give the next row to @sink; false in *@found: there is none. With a keyed
     * result *@key has its key, borrowed until the next call. Errors:
     * ERR_INVALID (a value that an expression does not take), ERR_EXHAUSTED
     * (memory), ERR_CANCELLED (interrupted), those of the store. */
    int (*next)(struct gsql_rows *rows,
                const struct gsql_sink *sink,
                bool *found,
                struct slice *key,
                struct err *err);
    /* End the call above, which fails with ERR_CANCELLED. Any thread; a call
     * that has not begun is not seen: repeat it until the call returns. */
    void (*interrupt)(struct gsql_rows *rows);
    /* PRE: no other call runs. Nothing of the store is in use afterwards. NULL
     * is allowed. */
    void (*end)(struct gsql_rows *rows);
};

#endif /* BIGTABLE_GOOGLESQL_GSQL_ENGINE_H */

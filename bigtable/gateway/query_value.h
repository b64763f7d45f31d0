/* Values of queries: parameters, from messages Value to SQL of DuckDB, and
 * results, from what an engine delivers to the Values of ProtoRows.
 *
 * Threads: pure; a writer is one caller's.
 */
#ifndef BIGTABLE_GATEWAY_QUERY_VALUE_H
#define BIGTABLE_GATEWAY_QUERY_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/googlesql/gsql_engine.h"

struct arena;
struct gsql_param;

/* Bytes of a row of a result: a larger one is not delivered. */
#define QUERY_ROW_BYTES_MAX ((size_t)128 << 20)

/* --- results ------------------------------------------------------------- */

/* Arrays within arrays: each level of a type is one, and the entries of a MAP
 * are another. */
#define QUERY_LEVELS_MAX (2 * GSQL_TYPE_DEPTH_MAX + 2)

/* Appends values to `out`, whose rows are messages ProtoRows.
 *
 * Invariants
 *     INV-1. depth arrays are open; it is 0 between values.
 */
struct query_writer {
    struct buf *out; /* Borrowed. */
    size_t begin;    /* Where the row begins. */
    size_t depth;

    struct {
        size_t value; /* As pb_open() gave them. */
        size_t array;
    } open[QUERY_LEVELS_MAX];

    bool too_big; /* The row is cut. */
};

/* Begin a row behind what is in w->out. */
void query_writer_begin(struct query_writer *w);
/* The sink of @w. */
struct gsql_sink query_writer_sink(struct query_writer *w);

/* --- parameters ---------------------------------------------------------- */

/* The value of @p, whose name and type are set, from @message, a Value; NULL in
 * SQL where @message is. Bytes are of @arena, or borrowed from @message.
 * Errors: ERR_INVALID (it is of another type, or outside of the type's range).
 */
MUST_CHECK int query_value_get(struct slice message,
                               struct gsql_param *p,
                               struct arena *arena,
                               struct err *err);
/* A value that is not known yet, as NULL. */
void query_value_none(struct gsql_param *p, struct arena *arena);

#endif /* BIGTABLE_GATEWAY_QUERY_VALUE_H */

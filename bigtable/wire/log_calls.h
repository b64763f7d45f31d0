/* Who has which segment of a dead server's log sorted, and reading it there.
 *
 *     holders = { log:varint server:varint segment:lslice address:lslice }
 *
 * The master tells with each order to load a tablet; what it does not tell is
 * sorted by whoever loads.
 *
 * Threads: any; nothing here parks.
 */
#ifndef BIGTABLE_WIRE_LOG_CALLS_H
#define BIGTABLE_WIRE_LOG_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cursor;

/* Of all holders in an order; what would make it longer is left out. */
#define LOG_HOLDERS_BYTES_MAX ((size_t)1 << 20)

struct log_holder {
    uint64_t log;         /* Number of the dead server. */
    uint64_t server;      /* That has the segment in memory. */
    struct slice segment; /* File name below the log's directory. */
    struct slice address; /* Of the server. */
};

void log_holder_put(const struct log_holder *h, struct buf *out);
/* The next one; false at the end, or when c->bad is set. */
bool log_holder_next(struct cursor *c, struct log_holder *h);

/* Answer to TABLET_LOG_SORT. */
struct log_sorted {
    bool held; /* In memory, to be read; otherwise it is in its file. */
};

void log_sorted_put(const struct log_sorted *s, struct buf *out);
MUST_CHECK int
log_sorted_get(struct slice in, struct log_sorted *s, struct err *err);

/* TABLET_LOG_READ; answered with a batch (tablet/log_merge.h), as an
 * attachment. */
struct log_read {
    struct slice sequencer;
    uint64_t server;      /* That holds it. */
    uint64_t log;         /* Number of the dead one. */
    struct slice segment; /* File name below its log directory. */
    uint64_t table;
    struct slice start; /* Rows [start, end); empty: no bound. */
    struct slice end;
    uint64_t skip; /* Mutations that were read before. */
};

void log_read_put(const struct log_read *r, struct buf *out);
MUST_CHECK int
log_read_get(struct slice in, struct log_read *r, struct err *err);

#endif /* BIGTABLE_WIRE_LOG_CALLS_H */

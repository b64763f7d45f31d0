/* The holders of sorted segments of a dead server's log, and reading a segment
 * there.
 *
 *     holders = { log:varint server:varint segment:lslice address:lslice }
 *
 * Each order of the master to load a tablet carries the holders of its logs; a
 * segment without a holder is sorted by the server that loads.
 *
 * Threads: any; nothing here parks. */
#ifndef BIGTABLE_WIRE_LOG_CALLS_H
#define BIGTABLE_WIRE_LOG_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/call_tables.h"

struct cursor;

/* Of all holders in an order; holders beyond it are left out. */
#define LOG_HOLDERS_BYTES_MAX ((size_t)1 << 20)

struct log_holder {
    uint64_t log;         /* Number of the dead server. */
    uint64_t server;      /* The server that has the segment in memory. */
    struct slice segment; /* File name below the log's directory. */
    struct slice address; /* Of the server. */
};

/* Append one holder. */
void log_holder_put(const struct log_holder *h, struct buf *out);
/* The next one; false at the end, or when c->bad is set. */
bool log_holder_next(struct cursor *c, struct log_holder *h);

/* Answer to TABLET_LOG_SORT. */
struct log_sorted {
    bool held; /* In memory, to be read; otherwise it is in its file. */
};

/* TABLET_LOG_READ; answered with a batch (recovery/log_merge.h) attached. */
struct log_read {
    struct slice sequencer;
    uint64_t server;      /* The holder. */
    uint64_t log;         /* Number of the dead one. */
    struct slice segment; /* File name below its log directory. */
    uint64_t table;
    struct slice start; /* Rows [start, end); empty: no bound. */
    struct slice end;
    uint64_t skip; /* Mutations that were read before. */
};

#define LOG_SORTED(FIELD) FIELD(FLAG, held)

#define LOG_READ(FIELD)                                                        \
    FIELD(SEQUENCER, sequencer)                                                \
    FIELD(U64, server)                                                         \
    FIELD(U64, log)                                                            \
    FIELD(FILE_NAME, segment)                                                  \
    FIELD(TABLE, table)                                                        \
    FIELD(ROW, start)                                                          \
    FIELD(ROW, end)                                                            \
    FIELD(U64, skip)

#define LOG_MESSAGES(MESSAGE)                                                  \
    MESSAGE(log_sorted, LOG_SORTED, "answer about a sorted segment")           \
    MESSAGE(log_read, LOG_READ, "question for a sorted segment")

LOG_MESSAGES(MESSAGE_PROTOTYPES)

#endif /* BIGTABLE_WIRE_LOG_CALLS_H */

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
#include "bigtable/wire/field_kinds.h"

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

static const struct message_field log_sorted_fields[] = {
    FIELD(log_sorted, held, field_flag),
};

static const struct message_field log_read_fields[] = {
    FIELD(log_read, sequencer, field_sequencer),
    FIELD(log_read, server, field_u64),
    FIELD(log_read, log, field_u64),
    FIELD(log_read, segment, field_file_name),
    FIELD(log_read, table, field_table),
    FIELD(log_read, start, field_row),
    FIELD(log_read, end, field_row),
    FIELD(log_read, skip, field_u64),
};

#define LOG_MESSAGES(MESSAGE)                                                  \
    MESSAGE(log_sorted, "answer about a sorted segment")                       \
    MESSAGE(log_read, "question for a sorted segment")

LOG_MESSAGES(MESSAGE_FUNCTIONS)

#endif /* BIGTABLE_WIRE_LOG_CALLS_H */

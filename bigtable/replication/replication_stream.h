/* The two ends of a stream, opened: struct quarry_replication of
 * quarry_replication.h, for the files of this room.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_REPLICATION_REPLICATION_STREAM_H
#define BIGTABLE_REPLICATION_REPLICATION_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/quarry_replication.h"
#include "bigtable/replication/replication_rules.h"

/* A call to the other end has at most this much, about. */
#define REPLICATION_BATCH_BYTES ((size_t)4 << 20)
#define REPLICATION_BATCH_ROWS  ((size_t)4096)

struct quarry_replication {
    struct quarry *from; /* Borrowed. */
    struct quarry *to;   /* Owned, unless it is `from`. */
    struct quarry_table *source;
    struct quarry_table *target;
    uint64_t from_site;
    uint64_t to_site;
    struct replication_rules rules;
    struct buf start; /* Rows [start, end). */
    struct buf end;
    uint64_t bytes_per_s;           /* 0: no bound. */
    uint64_t paid_ns;               /* All that was sent is paid for then. */
    struct quarry_mutation **batch; /* Owned; those in use come first. */
    size_t batch_room;
    size_t batch_count;
    size_t batch_bytes;
    const quarry_flag *stop; /* Borrowed; NULL: none. */
    int *codes;              /* One for each of the room. */
};

/* Open the other end of @s. *@out is owned unless it is @q. */
MUST_CHECK int replication_target_open(struct quarry *q,
                                       const struct quarry_replication_spec *s,
                                       struct quarry **out,
                                       struct err *err);

/* A mutation of @row in the batch, which begins with @origin. Borrowed. It
 * counts once replication_batch_keep() was called. */
struct quarry_mutation *
replication_batch_next(struct quarry_replication *r,
                       struct slice row,
                       const struct quarry_origin *origin);
void replication_batch_keep(struct quarry_replication *r);
bool replication_batch_is_full(const struct quarry_replication *r);
/* Apply the batch, which is empty afterwards, and wait as long as the stream's
 * rate asks for. */
MUST_CHECK int replication_batch_send(struct quarry_replication *r,
                                      struct err *err);

#endif /* BIGTABLE_REPLICATION_REPLICATION_STREAM_H */

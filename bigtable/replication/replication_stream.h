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

/* Mutations of one call to the other end, which are used again and again. */
struct replication_batch {
    struct quarry_mutation **list; /* Owned; those in use come first. */
    size_t room;
    size_t count;
    size_t bytes;
};

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
    uint64_t bytes_per_s; /* 0: no bound. */
    uint64_t paid_ns;     /* All that was sent is paid for then. */
    struct replication_batch batch;
    const quarry_flag *stop; /* Borrowed; NULL: none. */
};

/* Open the other end of @s. *@out is owned unless it is @q. */
MUST_CHECK int replication_target_open(struct quarry *q,
                                       const struct quarry_replication_spec *s,
                                       struct quarry **out,
                                       struct err *err);

/* A mutation of @row in @b, which begins with @origin. Borrowed. It counts once
 * replication_batch_keep() was called. */
struct quarry_mutation *
replication_batch_next(struct replication_batch *b,
                       const struct quarry_replication *r,
                       struct slice row,
                       const struct quarry_origin *origin);
void replication_batch_keep(struct replication_batch *b);
bool replication_batch_is_full(const struct replication_batch *b);
void replication_batch_clear(struct replication_batch *b);
void replication_batch_close(struct replication_batch *b);

/* Apply @list at the other end. Any thread. */
MUST_CHECK int replication_apply(const struct quarry_replication *r,
                                 struct quarry_mutation *const *list,
                                 size_t count,
                                 struct err *err);
/* Add what is sent of @c to @b. *@bytes: how much that is; 0: nothing. */
void replication_add_change(struct quarry_replication *r,
                            const struct quarry_change *c,
                            struct replication_batch *b,
                            uint64_t *bytes);
/* Wait as long as the stream's rate asks for @bytes that were sent. Errors:
 * ERR_CANCELLED. */
MUST_CHECK int
replication_pay(struct quarry_replication *r, uint64_t bytes, struct err *err);
MUST_CHECK int replication_check_stop(const struct quarry_replication *r,
                                      struct err *err);

#endif /* BIGTABLE_REPLICATION_REPLICATION_STREAM_H */

/* Batches of changes on their way from the reader of a stream to its senders.
 *
 * The reader divides each batch among the senders by hashes of rows, and a
 * sender applies its parts in their order: commits of one row arrive in theirs,
 * as a table needs that keeps no changes. A batch that all senders have passed
 * is at the other end, and its token is a place to continue from. A sender that
 * is behind takes several parts in one call, so calls grow with the distance.
 *
 * Memory: REPLICATION_SLOTS batches. Threads: one reader, one thread for each
 * sender, and one that waits.
 *
 * INV-1: tail <= next[i] <= head <= tail + REPLICATION_SLOTS.
 * INV-2: tail is the smallest next[i], and `reached` is of the batch before it.
 */
#ifndef BIGTABLE_REPLICATION_REPLICATION_QUEUE_H
#define BIGTABLE_REPLICATION_REPLICATION_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/runtime/sync.h"
#include "bigtable/replication/replication_stream.h"

enum {
    REPLICATION_SLOTS = 8,
    REPLICATION_SENDERS = 4
};

/* The changes of one read. */
struct replication_slot {
    struct replication_batch parts[REPLICATION_SENDERS];
    struct buf token; /* Behind it. */
    int64_t watermark_us;
    uint64_t changes; /* That were read, also those that are not sent. */
    uint64_t bytes;   /* Of those that are sent. */
};

struct replication_queue {
    struct mutex lock;
    struct cond pushed[REPLICATION_SENDERS]; /* There is more for one, */
    struct cond passed;                      /* a slot is free, */
    struct cond over;                        /* all is sent, or it failed. */
    struct replication_slot slots[REPLICATION_SLOTS];
    uint64_t head;                      /* Batches that were pushed, */
    uint64_t tail;                      /* are at the other end, */
    uint64_t next[REPLICATION_SENDERS]; /* and were passed by a sender. */
    bool closed;                        /* Nothing more is pushed. */
    int rc;                             /* The first failure, */
    struct err err;                     /* in words. */
    struct buf token;                   /* Reached: as in a slot; */
    int64_t watermark_us;
    uint64_t changes; /* since they were taken last. */
    uint64_t bytes;
};

void replication_queue_init(struct replication_queue *q);
/* PRE: no thread uses it. */
void replication_queue_close(struct replication_queue *q);

/* --- the reader ---------------------------------------------------------- */

/* An empty slot, borrowed until it is pushed. NULL: there was a failure. Parks.
 */
struct replication_slot *replication_queue_reserve(struct replication_queue *q);
/* The part of the sender that has @row. */
struct replication_batch *replication_slot_part(struct replication_slot *slot,
                                                struct slice row);
void replication_queue_push(struct replication_queue *q);
/* Nothing follows. Batches that were pushed are still sent. */
void replication_queue_finish(struct replication_queue *q);
/* The first failure counts: senders end after the call that they are in. */
void replication_queue_fail(struct replication_queue *q,
                            int rc,
                            const struct err *err);

/* --- senders ------------------------------------------------------------- */

/* Wait for parts of sender @i, and list the mutations of those that one call
 * takes in @list, which has room for *@room (both owned by the caller). @to:
 * what replication_queue_pass() is given once they are at the other end. False:
 * there will be none. Parks. */
bool replication_queue_take(struct replication_queue *q,
                            unsigned i,
                            struct quarry_mutation ***list,
                            size_t *room,
                            size_t *count,
                            uint64_t *to);
void replication_queue_pass(struct replication_queue *q,
                            unsigned i,
                            uint64_t to);

/* --- who waits ----------------------------------------------------------- */

/* Wait for @us, or until all is sent or something failed; then false. */
bool replication_queue_wait(struct replication_queue *q,
                            struct world *w,
                            uint64_t us);
/* The place that was reached; *@token is replaced. Changes and bytes are those
 * since the call before. */
void replication_queue_reached(struct replication_queue *q,
                               struct buf *token,
                               struct quarry_replication_place *out);

#endif /* BIGTABLE_REPLICATION_REPLICATION_QUEUE_H */

/* Group commit: writers queue up, the first one writes for all who wait.
 *
 * The head of the queue is the leader. It takes the batches behind it, up to a
 * limit, gives them sequence numbers, appends them to the commit log with one
 * write and, if one of them asks for it, one sync; puts them into the
 * memtables, makes them visible all at once, and wakes their writers. Meanwhile
 * the next group gathers. "The write turn" is being the head with no group
 * under way: changes of tables take it for a moment, to close a table to
 * writers, to freeze memtables or to put a new state in force.
 *
 * Where the log takes several writes at once, groups that are synced overlap:
 * the head is the next group's leader once the log has begun on the one before.
 * They end in the order of their numbers, so that what is visible has no holes;
 * when one fails, those under way with it do. A group with a condition waits
 * for all before it, for these may write to its row.
 *
 * Writers wait for memory before they queue up, so that those of system tables,
 * without which nothing is flushed, never stand behind one who waits.
 *
 * Row transactions are optimistic: one reads the row, decides, and queues its
 * writes on condition that the row was not written since. Each write stamps the
 * slot its row hashes to (row_stamps.h); the leader compares.
 *
 * Invariants
 *     INV-1. The queue is empty, or has a head and a tail; only its head leads.
 *     INV-2. Groups end in the order of their numbers: the first under way has
 *            the lowest, and what is visible has no holes.
 *     INV-3. visible <= last_sequence; both only rise.
 *     INV-4. A writer is in the queue, or kept as a spare, and then it has no
 *            view.
 */
#ifndef BIGTABLE_WRITE_WRITE_QUEUE_H
#define BIGTABLE_WRITE_WRITE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/metrics/metric.h"
#include "base/runtime/sync.h"

struct logged_mutation;
struct quarry_mutation;
struct skip_batch;
struct tablet;
struct tablet_env;
struct table_part;
struct table_part_view;
struct write_group;
struct writer;

enum write_durability {
    WRITE_SYNCED,
    WRITE_LOGGED,
    WRITE_DEFERRED
};

struct write_queue {
    struct mutex lock;
    struct writer *head;
    struct writer *tail;
    struct writer *spare;       /* Writers kept for reuse. */
    uint64_t last_sequence;     /* Given; the leader's. */
    struct write_group *groups; /* Under way, in order. */
    struct write_group **last_group;
    unsigned group_under_way; /* Their number. */
    struct cond ended;        /* One has ended. */
    atomic_uint numbering;    /* Groups that are not numbered yet. */
    struct buf key;           /* Scratch of the group that ends, */
    struct skip_batch *batch; /* and what it inserts. */
    /* The causes of writers' waits, how often and how long in all: */
    atomic_ullong stall_count; /* memory, */
    atomic_ullong stall_us;
    atomic_ullong sync_count; /* the disk, for synced writes, */
    atomic_ullong sync_us;
    atomic_ullong turn_count; /* a split or a change of schema. */
    atomic_ullong turn_us;
    uint64_t turn_began_ns;               /* Of the one who holds the turn. */
    struct metric_histogram sync_seconds; /* Synced groups, in the log. */
    struct metric_counter ingested_bytes; /* Of rows and operations, */
    struct metric_counter logged_bytes;   /* and of those in the log. */
    atomic_ullong group_count;            /* Groups written, */
    atomic_ullong write_count;            /* and batches in them. */
};

/* Empty; the next mutation gets @last_sequence + 1. PRE of closing: nobody
 * waits in it. */
void write_queue_init(struct write_queue *q, uint64_t last_sequence);
void write_queue_close(struct write_queue *q);

/* Condition of an optimistic write: the row was not written after @sequence. */
struct write_condition {
    struct slice row; /* Empty: none of those that the write changes was. */
    uint64_t sequence;
};

/* Apply @mutations, in order, each atomically. @now_us is what the machine's
 * clock says: QUARRY_NOW becomes it, or the newest stamp that the table gave
 * before, if that is later. Parks. With @condition (NULL: none) ERR_ABORTED
 * means that it did not hold. On error *@failed_index (may be NULL) is the
 * first that was not applied.
 */
MUST_CHECK int write_apply(struct tablet_env *env,
                           struct table_part *t,
                           const struct quarry_mutation *const *mutations,
                           size_t count,
                           enum write_durability durability,
                           int64_t now_us,
                           const struct write_condition *condition,
                           size_t *failed_index,
                           struct err *err);

/* One of several writes made together. */
struct write_request {
    struct table_part *table; /* Borrowed. */
    const struct quarry_mutation *const *mutations;
    size_t count;
    size_t failed_index; /* As of write_apply(). */
    int rc;
    struct err err;
};

/* Each as write_apply() without condition, on tables of its own, but queued
 * together: they share what the log costs. Parks. */
void write_apply_all(struct tablet_env *env,
                     struct write_request *requests,
                     size_t count,
                     enum write_durability durability,
                     int64_t now_us);

/* Every commit of @t from now on has a later time than *@us. Where all that
 * have times up to it are known, they are numbered up to *@sequence, and the
 * call returns true; else it is tried again later. */
bool write_queue_settle(struct tablet_env *env,
                        struct table_part *t,
                        int64_t *us,
                        uint64_t *sequence);

/* Give no number up to @sequence any more. Parks. */
void write_queue_raise(struct tablet_env *env, uint64_t sequence);

/* From now on, every row counts as just written. Returns the number they got,
 * which no entry has. Parks. */
uint64_t write_turn_stamp_all(struct tablet_env *env);
/* The same with @count numbers, of which the first is returned. */
uint64_t write_turn_stamp_many(struct tablet_env *env, uint64_t count);

/* Take and give back the write turn. Parks. */
void write_turn_take(struct tablet_env *env, struct writer **turn);
void write_turn_give(struct tablet_env *env, struct writer *turn);

/* Close @t to writers. Returns the number of the last entry there is. */
uint64_t write_turn_close_table(struct tablet_env *env, struct table_part *t);
/* Open it again, with @view (moved in; NULL: dropped) in force if @replace. */
void write_turn_open_table(struct tablet_env *env,
                           struct table_part *t,
                           bool replace,
                           struct table_part_view *view);

/* Freeze the memtables of @t. PRE: the write turn is held. */
void write_turn_freeze(struct tablet_env *env, const struct tablet *t);

/* Put the operations of @m, a mutation of @t that a log holds, numbered from
 * @sequence on, into the memtables of those groups that do not have them in
 * tables yet. @v's schema says where families are. Returns about how many bytes
 * these are. @batch: as of tablet_group_insert(); NULL is best for rows that
 * come in order. PRE: nobody else writes to @t. */
uint64_t write_replay_mutation(const struct table_part_view *v,
                               const struct tablet *t,
                               const struct logged_mutation *m,
                               uint64_t sequence,
                               struct skip_batch *batch,
                               struct buf *scratch);

#endif /* BIGTABLE_WRITE_WRITE_QUEUE_H */

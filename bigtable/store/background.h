/* Background work: flushes, compactions, splits, on tasks of their own.
 *
 * Of two tasks or more one only flushes, so that a long compaction never makes
 * writers wait for memory; the others flush, compact where most is to be
 * gained, and split.
 *
 * A flush that failed is tried again within a second. When the disk was full,
 * and in a tablet server after any error, writers learn of it once memory is
 * full; after another error an embedded store takes no more writes until it is
 * opened again. An error of a compaction, other than a full disk, stops the
 * compactions of that group alone.
 *
 * Memory that flushes, merges and drops free is kept for the next, and given
 * back to the system once none of these came for ten seconds.
 *
 * Threads: any.
 *
 * Invariants
 *     INV-1. At most one task flushes a group, and at most one compacts it.
 *     INV-2. A tablet that is paused gets no new job, as long as there were
 *            more calls of background_pause() than of background_resume().
 *     INV-3. No task runs before background_start(), and none after
 *            background_stop().
 */
#ifndef BIGTABLE_STORE_BACKGROUND_H
#define BIGTABLE_STORE_BACKGROUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/metrics/metric.h"
#include "base/runtime/sync.h"

struct store;
struct task;
struct tablet;
struct tablet_group;

#define BACKGROUND_TASKS_MAX 64

struct background {
    struct mutex lock;
    struct cond work;     /* Something may be to do. */
    struct cond progress; /* Something was done, or failed. */
    struct task *tasks[BACKGROUND_TASKS_MAX];
    struct background_worker *workers; /* Owned. */
    unsigned task_count; /* Started; 0 until there is something to do. */
    unsigned task_max;
    bool started; /* Work may be done: recovery is over. */
    bool stop;
    uint64_t wake_count; /* So that no call of background_wake is lost. */
    uint64_t wake_count_seen[BACKGROUND_TASKS_MAX];
    struct err flush_error; /* Of the last flush that failed; 0: none, or it
                               passed. */
    atomic_int flush_error_code; /* The same code, to be read without lock. */
    uint64_t failure_count;      /* Flushes that failed. */
    struct err compaction_error; /* The last one. */
    struct metric_histogram flush_seconds;      /* Of the flushes, */
    struct metric_histogram compaction_seconds; /* of compactions by choice, */
    struct metric_histogram major_seconds;      /* and of major ones. */
    uint64_t release_ns; /* When memory that was freed goes back to the system,
                            if nothing more is freed before; 0: none was. */
    uint64_t release_count;
    uint64_t released_bytes; /* Of idle chunks of memtables. */
    uint64_t flush_count;
    uint64_t compaction_count;
    uint64_t split_count;
};

void background_init(struct background *b, unsigned task_max);
/* Recovery is over: work may begin. */
void background_start(struct store *s);
/* Let running compactions end early, and wait for all tasks. Parks. */
void background_stop(struct store *s);
void background_close(struct background *b);

/* There may be something to do. */
void background_wake(struct store *s);

/* Memory was freed that may not be needed soon, as that of a dropped table. */
void background_note_freed(struct store *s);

/* Count what all memtables hold, to which writers only add: store.memory_bytes.
 * Returns what of it is frozen. */
uint64_t background_count_memory(struct store *s);

/* Wait until memtables have room. PRE: the write turn is not held. Parks.
 * Errors: why flushing fails. */
MUST_CHECK int background_wait_for_room(struct store *s, struct err *err);

/* Wait until @g has everything up to @sequence in tables. Parks. */
MUST_CHECK int background_wait_flushed(struct store *s,
                                       struct tablet_group *g,
                                       uint64_t sequence,
                                       struct err *err);

/* No background job on @t between the two; those that run are waited for. */
void background_pause(struct store *s, struct tablet *t);
void background_resume(struct store *s, struct tablet *t);

/* Major compaction of one group, in the caller's thread. Parks. */
MUST_CHECK int background_compact_major(struct store *s,
                                        struct tablet_group *g,
                                        struct err *err);

#endif /* BIGTABLE_STORE_BACKGROUND_H */

/* Spills that workers gather while maps still run: which worker gathers which
 * partition, and what to order each. Functions of tables and of the scheduler's
 * view: no clock, no I/O, nothing parks.
 *
 * Reduces start when all maps have ended, since one that waited would hold a
 * slot that a map could use. Their input can be on its way before: once a
 * twentieth of the maps has ended, each partition gets a worker, its reduce
 * task's home, which pulls the pieces that are on other machines beside its
 * attempts, and gets the task if it has a slot then (schedule.h, rule 3).
 *
 * Nothing depends on it. A piece that a worker has not pulled, has lost, or
 * pulled of an attempt that did not count in the end is read by the reduce
 * attempt itself: pieces are named by map and attempt.
 *
 *     early_pull_look(&p, &sched);
 *     while (early_pull_next(&p, &sched, &notice)) {
 *         ...
 *         early_notice_close(&notice);
 *     }
 *
 * Rules
 *     1. A worker that pulls is up, not silent, not banned, wants to, and there
 *        are others whose files it cannot open.
 *     2. A partition goes to the worker with the fewest for its slots, and to
 *        another when its own no longer fulfils rule 1.
 *     3. A worker is told once of each partition of its own and of each spill
 *        that it cannot open, in the order in which maps ended; never of a
 *        spill that was made again meanwhile.
 *
 * One thread.
 */
#ifndef MAPREDUCE_MASTER_EARLY_PULL_H
#define MAPREDUCE_MASTER_EARLY_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mapreduce/master/schedule.h"
#include "mapreduce/task/task_spec.h"

/* Pulling begins when one in this many maps has ended. */
#define EARLY_PULL_SHARE 20
/* Spills in one order. */
#define EARLY_NOTICE_SPILLS_MAX 16384

/* How far one worker was told. */
struct early_worker {
    size_t told;   /* Ends it was told. */
    bool over;     /* It was told that no map runs any more. */
    uint32_t load; /* Partitions that are its own. */
};

struct early_pull {
    const struct task_table *maps;   /* Borrowed. */
    struct task_table *reduces;      /* It sets their homes. Borrowed. */
    const struct task_spill *spills; /* Of the winners, by map. Borrowed. */
    uint32_t *noted; /* The attempt of each map that is in `ends`. Owned. */
    uint32_t *told;  /* The worker that was told of each partition. Owned. */
    struct task_spill *ends; /* In their order; without places. Owned. */
    size_t end_count;
    size_t end_cap;
    struct early_worker *workers; /* Owned. */
    uint32_t worker_count;
    bool begun;
    bool over;
};

/* @spills has an attempt for each map that left one. @reduces and @spills must
 * outlive @p. */
void early_pull_init(struct early_pull *p,
                     const struct task_table *maps,
                     struct task_table *reduces,
                     const struct task_spill *spills);
void early_pull_close(struct early_pull *p);

/* Take in what has changed since the last look: ended maps, workers. */
void early_pull_look(struct early_pull *p, const struct sched *s);
/* All maps have ended: workers that have orders get a last one that says so. */
void early_pull_finish(struct early_pull *p);
/* Worker @worker is gone with its pieces, and its number may be reused. */
void early_pull_lose(struct early_pull *p, uint32_t worker);

struct early_notice {
    uint32_t worker;
    bool over;
    uint32_t *partitions; /* Owned. */
    size_t partition_count;
    struct task_spill *spills; /* Their places are workers. Owned. */
    size_t spill_count;
};

/* The next order to send, which counts as sent; false: none. On true *@out is
 * the caller's to close. */
bool early_pull_next(struct early_pull *p,
                     const struct sched *s,
                     struct early_notice *out);
void early_notice_close(struct early_notice *t);

#endif /* MAPREDUCE_MASTER_EARLY_PULL_H */

/* What workers bring together while maps still run: which partition is gathered
 * by which worker, and what each has to be told. Functions of tables and of the
 * scheduler's view: no clock, no I/O, nothing waits.
 *
 * Reduces start when all maps have ended, since one that waited would hold a
 * slot that a map could use. What they read can be on its way before: once a
 * twentieth of the maps has ended, each partition gets a worker, its reduce
 * task's home, which pulls what lies on other machines beside its attempts and
 * is where the task goes if it has a slot then (schedule.h, rule 3).
 *
 * Nothing depends on it. What a worker has not pulled, or has lost, or pulled
 * of an attempt that did not count in the end, the reduce attempt gets itself,
 * as does one that runs elsewhere: pieces are named by map and attempt.
 *
 *     early_pull_look(&p, &sched);
 *     while (early_pull_next(&p, &sched, &tell)) { …;
 * early_notice_close(&tell);
 * }
 *
 * Rules
 *     1. A worker that pulls is up, is heard, is not banned, wants to, and has
 *        others whose files it cannot open.
 *     2. A partition goes to the one with the fewest for its slots, and to
 *        another when its own is no such worker any more.
 *     3. A worker is told once of each partition of its own and of each spill
 *        that it cannot open, in the order in which maps ended; of none that
 *        was made again meanwhile.
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

/* Maps that have ended, of those that there are, before anything is pulled. */
#define EARLY_PULL_SHARE 20
/* Spills in what a worker is told at once. */
#define EARLY_NOTICE_SPILLS_MAX 16384

/* What one worker knows. */
struct early_worker {
    size_t told;   /* Of the ends. */
    bool over;     /* That no map runs any more. */
    uint32_t load; /* Partitions that are its own. */
};

struct early_pull {
    const struct task_table *maps;   /* Borrowed. */
    struct task_table *reduces;      /* Whose homes it sets. Borrowed. */
    const struct task_spill *spills; /* Of the winners, by map. Borrowed. */
    uint32_t *noted; /* The attempt of each map that is in `ends`. Owned. */
    uint32_t *told;  /* The worker that knows of each partition. Owned. */
    struct task_spill *ends; /* In their order; no places. Owned. */
    size_t end_count;
    size_t end_cap;
    struct early_worker *workers; /* Owned. */
    uint32_t worker_count;
    bool begun;
    bool over;
};

/* @spills has an attempt for each map that left something. */
void early_pull_init(struct early_pull *p,
                     const struct task_table *maps,
                     struct task_table *reduces,
                     const struct task_spill *spills);
void early_pull_close(struct early_pull *p);

/* Take in what has changed. */
void early_pull_look(struct early_pull *p, const struct sched *s);
/* All maps have ended: workers that were told something are told so. */
void early_pull_finish(struct early_pull *p);
/* Worker @worker is gone with what it had, and its number may be another's. */
void early_pull_lose(struct early_pull *p, uint32_t worker);

struct early_notice {
    uint32_t worker;
    bool over;
    uint32_t *partitions; /* Owned. */
    size_t partition_count;
    struct task_spill *spills; /* Their places are workers. Owned. */
    size_t spill_count;
};

/* The next thing to be told, which counts as told; false: nothing. On true
 * *@out is the caller's to close. */
bool early_pull_next(struct early_pull *p,
                     const struct sched *s,
                     struct early_notice *out);
void early_notice_close(struct early_notice *t);

#endif /* MAPREDUCE_MASTER_EARLY_PULL_H */

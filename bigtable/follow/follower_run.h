/* A run of a follower: what follower_run() is given, and what its host keeps of
 * it.
 *
 * Invariants
 *     INV-1. After `lost` is true nothing is written on the run's behalf.
 *     INV-2. The token of the row is one of `token` and `pending`, or the run
 *            is lost: another has saved since.
 *
 * Threads: the run's own task; `stop`, `lost`, `ended` and, under the mutex,
 * `beat` and `error`, are its host's, too.
 */
#ifndef BIGTABLE_FOLLOW_FOLLOWER_RUN_H
#define BIGTABLE_FOLLOW_FOLLOWER_RUN_H

#include <stdatomic.h>

#include "base/runtime/sync.h"
#include "bigtable/follow/follower_row.h"

struct task;
struct world;

struct follower_run {
    struct world *world;        /* Borrowed, as all but what is said. */
    struct quarry *store;       /* The host's: of the record and its state. */
    struct quarry *quarry;      /* On behalf of the principal; owned if it is
                                   another one. */
    struct quarry_table *table; /* Of the followers; of `store`; owned. */
    const struct follower_kind *kind;
    struct follower_row row; /* Owned. */
    char key[FOLLOWER_KEY_BYTES];
    uint64_t epoch;
    struct task *task; /* Owned. */

    quarry_flag stop;    /* It shall end. */
    quarry_flag lost;    /* Another has it, or it was dropped. */
    atomic_bool ended;   /* Its task has returned. */
    quarry_flag beating; /* The host still sends heartbeats. */

    struct buf token;   /* That the row has, as far as it is known; "": none. */
    struct buf pending; /* Part of a transaction whose outcome is unknown. */
    uint64_t saved_ns;

    struct mutex mutex;        /* Of what follows. */
    struct follower_beat beat; /* Its error is below. */
    struct buf error;
    uint64_t retry_ns; /* When it may begin again; 0: now. */
    unsigned failed;   /* Runs in a row that ended early. */
};

/* A run of @row, which it takes over. */
struct follower_run *follower_run_new(struct quarry *q,
                                      const struct follower_kind *kind,
                                      const struct follower_row *row,
                                      uint64_t epoch);
/* Begin it, or begin it again. */
void follower_run_start(struct follower_run *r);
/* Has the task ended? Then join it, and note what came of it. */
bool follower_run_reap(struct follower_run *r);
/* Write a heartbeat; the run is lost if it cannot be. */
void follower_run_beat(struct follower_run *r, bool released);
/* PRE: its task was reaped. */
void follower_run_free(struct follower_run *r);

#endif /* BIGTABLE_FOLLOW_FOLLOWER_RUN_H */

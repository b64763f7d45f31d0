/* The workers of a cell, as its job master sees them: which there are, what
 * runs there, and which job gets the next slot.
 *
 * A worker keeps a file in /mapreduce/workers and the file's lock as long as
 * its session lives (job_wire.h). The pool calls each worker: one call hands it
 * orders, another waits for its news. A worker that is silent gets
 * no new attempts; one whose lock is free, or whose process refuses
 * connections for a while, is gone, and that is reported to every job.
 *
 *     worker_pool_open(w, &opts, &pool, &err)     once the lock is held
 *     cell_host_open(pool, &setup, &job, &host)   for each job; cell_host.h
 *     …
 *     host->close(host)
 *     worker_pool_close(pool)
 *
 * Slots are shared among jobs by priority, then by weight (share.h). No
 * attempt is stopped for another's sake: a job gets its share as attempts end.
 *
 * Threads: opened and closed on the loop whose chubby session it is given;
 * hosts may be used on any thread or fiber, each by one.
 */
#ifndef MAPREDUCE_CLUSTER_POOL_H
#define MAPREDUCE_CLUSTER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct chubby;
struct rpc_security;
struct worker_pool;
struct world;

/* Zeros give the defaults. */
struct worker_pool_options {
    struct chubby *chubby;               /* Borrowed; outlives the pool. */
    const char *sequencer;               /* Of the job master's lock; copied. */
    const struct rpc_security *security; /* Borrowed. */
    uint64_t silent_us;  /* A worker without a message for this long gets no new
                            attempts; default 1.5 s. For one that has attempts,
                            and so reports, a third of it is enough. */
    uint64_t refused_us; /* A worker that refuses connections for this long is
                            gone; default 0.4 s. */
    uint64_t order_us;   /* For a call of orders; default 10 s. */
};

/* PRE: on a fiber. *@out is owned: worker_pool_close(). Parks. Errors: those of
 * the lock service. */
MUST_CHECK int worker_pool_open(struct world *w,
                                const struct worker_pool_options *opts,
                                struct worker_pool **out,
                                struct err *err);
/* The job master is about to end: hosts wait for their workers a second more,
 * and then return ERR_CLOSED. Any thread. */
void worker_pool_end(struct worker_pool *p);
/* PRE: its hosts are closed. Parks. NULL is allowed. */
void worker_pool_close(struct worker_pool *p);

/* A worker as `quarry job workers` prints it. */
struct pool_worker {
    uint64_t number;
    char *name; /* Of its node: "n1". */
    char *address;
    char *machine;
    char *rack;
    uint32_t slots;
    uint32_t busy;
    uint64_t memory_bytes;
    uint64_t used_bytes; /* Promised to attempts. */
    bool is_silent;
};

/* Those that are up, by number. Owned: worker_pool_list_free(). Any thread. */
void worker_pool_list(struct worker_pool *p,
                      struct pool_worker **out,
                      size_t *count);
void worker_pool_list_free(struct pool_worker *list, size_t count);

/* Sums over all workers that are up. Any thread. */
struct pool_size {
    uint32_t workers;
    uint32_t slots;
    uint32_t busy;
    uint64_t memory_bytes;
    uint64_t slot_bytes; /* The least that any of them has for a slot: what an
                            attempt of a job may use. */
};

void worker_pool_size(struct worker_pool *p, struct pool_size *out);
/* How many attempts can run at a time with a core each: workers on one machine
 * share its cores. Any thread. */
uint32_t worker_pool_cores(struct worker_pool *p);
/* Wait until a worker is up, at most @timeout_us; false: none is.
 * Parks. */
bool worker_pool_wait(struct worker_pool *p, uint64_t timeout_us);

#endif /* MAPREDUCE_CLUSTER_POOL_H */

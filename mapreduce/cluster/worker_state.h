/* A worker as its files see it. Private to the files called worker*.c.
 *
 * Threads: everything below `lock` is read and changed under it, by fibers of
 * the worker's loop (its calls) and by the threads of jobs and of fetches. It
 * is never held over a call that waits for others.
 *
 * Invariants
 *
 *      INV-1. An attempt is in the list of its job until its news are queued,
 *             and never after: it has one end (worker_attempt.c).
 *      INV-2. A job's host is used by the job's own thread alone, except for
 *             status() and wake(), under the lock (worker_job.c).
 *      INV-3. Bytes and spills in pull_room are within their bounds (pulled.c).
 *
 */
#ifndef MAPREDUCE_CLUSTER_WORKER_STATE_H
#define MAPREDUCE_CLUSTER_WORKER_STATE_H

#include <stdatomic.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "bigtable/quarry.h"
#include "mapreduce/cluster/job_wire.h"
#include "mapreduce/cluster/pulled.h"
#include "mapreduce/cluster/worker.h"
#include "mapreduce/task/host.h"
#include "mapreduce/task/job_package.h"

struct channel_set;
struct chubby;
struct chubby_handle;
struct fiber;
struct file;
struct loop;
struct rpc_call;
struct task;
struct worker_pull;

enum worker_attempt_state {
    WORKER_ATTEMPT_FETCHING, /* Its spills are being located. */
    WORKER_ATTEMPT_QUEUED,   /* Waits for its job's thread. */
    WORKER_ATTEMPT_RUNNING,
};

/* An attempt that was ordered and has not ended. */
struct worker_attempt {
    TAILQ_ENTRY(worker_attempt) link;
    struct worker_job *job; /* Borrowed. */
    uint64_t ticket;
    enum worker_attempt_state state;
    bool killed;    /* To be stopped, */
    bool kill_sent; /* and the host was told to. */
    unsigned slot;  /* Of the host, while it runs. */
    struct task_spec spec;
    struct task_status status; /* Until it runs. */
    struct pulled *pulled;     /* Pieces pulled before. Owned; NULL: none. */
    uint64_t far_bytes;        /* Bytes of its pieces from other machines, */
    uint64_t early_bytes;      /* and of those pulled while maps ran. */
    struct task_spill *owners; /* Of the spec's segments, by number. Owned. */
    struct task *fetch; /* NULL: none; else joined by the job's thread. */
    bool fetched;       /* The fetch has ended, */
    bool failed;        /* and did not get everything: */
    struct task_spill *missing; /* this is missing. Owned. */
    size_t missing_count;
    char death[128];
};

TAILQ_HEAD(worker_attempts, worker_attempt);

enum worker_job_state {
    WORKER_JOB_LOADING,
    WORKER_JOB_READY,
    WORKER_JOB_FAILED, /* Of `why`; it is on its way out. */
    WORKER_JOB_ENDING,
};

struct worker_job {
    LIST_ENTRY(worker_job) link;
    struct worker *worker; /* Borrowed. */
    char *id;              /* Owned. */
    char *directory;       /* Owned. */
    struct job_package package;
    struct fs
        *fs; /* With the rights of its user; NULL: of the worker. Owned. */
    struct quarry_options store; /* How rows are read for its attempts. */
    enum worker_job_state state;
    struct err why;
    struct buf traits; /* job_traits_encode() */
    struct cond wake;  /* Of its thread. */
    struct cond ready; /* It has loaded, or failed, or is gone. */
    struct task *thread;
    struct attempt_host *host;
    struct worker_attempts attempts;
    struct worker_pull *pull; /* NULL: there was no such order. Owned. */
    uint64_t pull_ticket;     /* Of the last such order. */
    uint32_t running;
    uint32_t users;    /* Calls that hold a pointer. */
    bool over;         /* Its thread has returned, or there is none. */
    uint64_t asked_ns; /* When a master last asked about it. */
};

LIST_HEAD(worker_jobs, worker_job);

/* News kept until the master has received them. */
struct worker_told {
    TAILQ_ENTRY(worker_told) link;
    uint64_t serial;
    uint64_t ticket;
    struct buf event;
};

struct worker {
    struct world *world;
    struct worker_options options;
    struct loop *loop;
    uint64_t number;
    char *directory; /* Of this incarnation. Owned. */
    char *address;   /* Owned. */
    struct buf boot;
    uint32_t slots;
    uint64_t memory_bytes;
    struct channel_set *peers; /* Owned. */
    struct fs *fs;             /* Owned; NULL: not opened yet, or none. */
    struct fiber *joiner;
    struct fiber *maintenance; /* Removes jobs that no master asks about. */
    struct chubby *chubby;
    struct chubby_handle *file;
    bool joined;
    unsigned
        asking; /* Checks of it under way; on the loop, without the lock. */
    bool lost;
    struct err why;
    struct buf trusted; /* The sequencer that was checked, */
    uint64_t trusted_ns;
    struct mutex lock;
    struct cond news;      /* There are news. */
    struct cond read;      /* A reader of spills has finished. */
    uint32_t reading;      /* Readers now, of at most READERS_MAX. */
    struct pull_room room; /* For what is pulled early. */
    struct cond turn;      /* For turns of pulling: */
    bool pulling;          /* one job does at a time. */
    bool stopping;
    uint64_t pool; /* Of the master that gave the last order. */
    struct worker_jobs jobs;
    uint32_t job_count;
    TAILQ_HEAD(, worker_told) told;
    uint64_t next_serial;
    uint32_t running;
    uint64_t started;
    struct attempt_host *spare; /* Waits for a job; NULL: none does. */
    uint64_t spare_due_ns;      /* When the next one is to be started. */
    struct task *spare_task;    /* NULL: none is kept. Of the loop. */
    struct cond spare_wake;
    atomic_ullong fetched_bytes;
    atomic_ullong early_bytes;
    atomic_ullong served_bytes;
};

/* --- calls --------------------------------------------------------------- */

/* worker_calls.c */
void worker_add_calls(struct worker *k, struct rpc_server *server);
/* worker_serve.c */
int worker_spill_index(void *ctx, struct rpc_call *call, struct err *err);
int worker_spill_read(void *ctx, struct rpc_call *call, struct err *err);

/* --- jobs: worker_job.c; all under the lock ------------------------------ */

struct worker_job *worker_job_find(struct worker *k, struct slice id);
/* Decode @package and load its code, or wait until another call has. *@out has
 * one user more on success. Parks. */
MUST_CHECK int worker_job_prepare(struct worker *k,
                                  struct slice id,
                                  struct slice package,
                                  struct worker_job **out,
                                  struct err *err);
void worker_job_release(struct worker_job *j);
/* Let it end its attempts, and be removed; news of its attempts are dropped. */
void worker_job_end(struct worker_job *j);
/* Wait until all jobs are gone. Parks. */
void worker_jobs_wait(struct worker *k);
void worker_job_wake(struct worker_job *j);

/* --- a program in reserve: worker_spare.c; without the lock -------------- */

void worker_spare_start(struct worker *k);
/* Take the waiting program; NULL: none waits. Any thread. Owned. */
struct attempt_host *worker_spare_take(struct worker *k);
/* PRE: the worker is stopping, and has no jobs. Parks. */
void worker_spare_stop(struct worker *k);

/* --- attempts: worker_attempt.c; all under the lock ---------------------- */

/* Begin with the attempt, unless its order is known. ERR_CORRUPT. */
MUST_CHECK int worker_attempt_order(struct worker_job *j,
                                    uint64_t ticket,
                                    struct slice spec,
                                    struct err *err);
void worker_attempt_kill(struct worker *k, uint64_t ticket);
/* It has ended: queue the news, and remove it. @e and @s stay the caller's. */
void worker_attempt_describe(struct worker_attempt *a,
                             const struct attempt_event *e,
                             const struct task_status *s);
/* It has ended without the host: with @code, or killed. */
void worker_attempt_fail(struct worker_attempt *a,
                         const char *death,
                         bool lost,
                         const struct task_spill *missing,
                         size_t missing_count);
/* Its progress. Borrowed. */
const struct task_status *worker_attempt_status(const struct worker_attempt *a);
void worker_attempt_free(struct worker_attempt *a);

/* --- fetching: worker_fetch.c -------------------------------------------- */

/* Does the reduce attempt need spills of other workers, or of other attempts
 * here? */
bool worker_fetch_wanted(const struct task_spec *spec);
/* Locate the segments of @a's partition, fetching what is far, and enter them
 * in its spec. Without the lock. Parks. ERR_NOTFOUND: *@missing (owned) cannot
 * be had. ERR_CANCELLED: it was killed. */
MUST_CHECK int worker_fetch(struct worker_attempt *a,
                            struct task_spill **missing,
                            size_t *missing_count,
                            struct err *err);
/* Remove what was fetched for @a. Without the lock. Parks. */
void worker_fetch_remove(const struct worker_attempt *a);

/* --- pulling while maps run: worker_pull.c; all under the lock ----------- */

/* An order of the job master: begin pulling, or pull more. A repeated order is
 * ignored. ERR_CORRUPT. */
MUST_CHECK int worker_pull_order(struct worker_job *j,
                                 uint64_t ticket,
                                 struct slice order,
                                 struct err *err);
/* Take the pieces of @partition: nothing is added any more. NULL: there are
 * none. Owned. */
struct pulled *worker_pull_take(struct worker_job *j, uint32_t partition);
/* An attempt that took it did not begin, and another is to be expected. */
void worker_pull_return(struct worker_job *j, struct pulled *one);
/* Another master holds the lock: drop what the last one wanted. */
void worker_pull_reset(struct worker_job *j);
/* The job ends here. The lock is released meanwhile. Parks. */
void worker_pull_stop(struct worker_job *j);

#endif /* MAPREDUCE_CLUSTER_WORKER_STATE_H */

/* A job's attempts on the workers of a cell: the attempt_host that the job
 * master gives a job instead of attempt/process_host.c's.
 *
 * The job's package (task/job_package.h) goes to each worker once. A slot is
 * one of the host's own numbers; host->look() fills in the scheduler's view
 * from the pool. Events report the ends of attempts, and workers that are gone
 * with their spills (task/host.h): first each of the worker's attempts, as
 * lost, then the worker, whose number is not reused before that event was
 * fetched.
 *
 * Paths of the setup: work_dir is not used, each worker has its own; staging,
 * the object and side files are paths in the cell's file system, or, while
 * setup->files.fs is NULL, of files that every worker can see.
 *
 * Threads: one at a time, any; parks or blocks.
 */
#ifndef MAPREDUCE_CLUSTER_CELL_HOST_H
#define MAPREDUCE_CLUSTER_CELL_HOST_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/task/host.h"

struct worker_pool;

/* How the pool shares slots among jobs. */
struct cell_job {
    int priority;       /* Higher goes first. */
    uint32_t weight;    /* Of its share among equals; 0: 1. */
    uint32_t slots_max; /* Attempts at a time; 0: any number. */
};

/* Send the package of @setup to the workers and wait for the first of them to
 * have loaded the job's code: host->traits. @setup is borrowed. Waits while no
 * worker is up, until setup->opts->cancel. *@out is owned: host->close(), which
 * ends what runs and has the workers remove what the job left on their disks,
 * unless host->keep() was called.
 * Errors: ERR_NOTFOUND, ERR_INVALID, ERR_UNSUPPORTED: the job's code cannot be
 * loaded; ERR_CANCELLED; ERR_CLOSED: the pool has lost its authority. */
MUST_CHECK int cell_host_open(struct worker_pool *pool,
                              const struct job_setup *setup,
                              const struct cell_job *job,
                              struct attempt_host **out,
                              struct err *err);

#endif /* MAPREDUCE_CLUSTER_CELL_HOST_H */

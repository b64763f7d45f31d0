/* A job as a worker on another machine needs it, as bytes: the options and the
 * struct job_setup made from them, read into storage of their own.
 *
 * Not in it: what belongs to a process (world, store, security, functions),
 * which the reader sets; and the work directory of the worker.
 *
 * Any thread. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_JOB_PACKAGE_H
#define MAPREDUCE_TASK_JOB_PACKAGE_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "mapreduce/task/job_setup.h"
#include "mapreduce/task/saved_job.h"

struct job_package {
    struct job_setup setup;   /* Points into the rest. */
    struct saved_job options; /* Owns options, names and texts. */
    char *job_name;           /* Of a built-in job, or NULL. Borrowed. */
};

void job_package_encode(const struct job_setup *setup, struct buf *out);
/* Read what job_package_encode() wrote into @p; setup.world is @w. ERR_CORRUPT.
 * Close @p in any case. */
MUST_CHECK int job_package_decode(struct job_package *p,
                                  struct slice bytes,
                                  struct world *w,
                                  struct err *err);
void job_package_close(struct job_package *p);

#endif /* MAPREDUCE_TASK_JOB_PACKAGE_H */

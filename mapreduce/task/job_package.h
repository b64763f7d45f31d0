/* What a worker on another machine needs of a job, as bytes: the options and
 * the struct job_setup made from them. Read into storage of its own.
 *
 * Not in it: whatever belongs to a process (world, store, security, functions),
 * which the reader fills in; and the work directory, which is its own.
 *
 * Threads: none of its own.
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
/* ERR_CORRUPT. setup.world is @w. Close it in any case. */
MUST_CHECK int job_package_decode(struct job_package *p,
                                  struct slice bytes,
                                  struct world *w,
                                  struct err *err);
void job_package_close(struct job_package *p);

#endif /* MAPREDUCE_TASK_JOB_PACKAGE_H */

/* The options of a job as bytes, and read back into storage of their own.
 *
 * The beginning of a journal, a submission to the job master of a cell and the
 * package that workers get hold them. Members that belong to a process are not
 * saved: its world, store, functions and their contexts are for the reader to
 * set.
 *
 * Any thread. Nothing here parks.
 */
#ifndef MAPREDUCE_TASK_SAVED_JOB_H
#define MAPREDUCE_TASK_SAVED_JOB_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "mapreduce/job.h"

struct saved_job {
    char *job_id; /* Owned. */
    int64_t job_time_us;
    struct mr_options options; /* The saved ones; strings are owned. */
    char *job_name;            /* Of a built-in job, or NULL. Owned. */
};

/* Append the options @o of the job @job_id to @out. */
void saved_job_encode(const struct mr_options *o,
                      const char *job_id,
                      int64_t job_time_us,
                      struct buf *out);

/* Fill a zeroed @j from @body, copying every string. ERR_CORRUPT. Close it in
 * any case. */
MUST_CHECK int
saved_job_decode(struct saved_job *j, struct slice body, struct err *err);

void saved_job_close(struct saved_job *j);

#endif /* MAPREDUCE_TASK_SAVED_JOB_H */

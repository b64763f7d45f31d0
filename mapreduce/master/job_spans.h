/* Spans of a job that runs in a cell, for its trace (task/job_trace.h): of
 * attempts and phases when they end. A job without a trace has none. */
#ifndef MAPREDUCE_MASTER_JOB_SPANS_H
#define MAPREDUCE_MASTER_JOB_SPANS_H

#include <stdint.h>

#include "mapreduce/master/job_timeline.h"

struct attempt_ending;
struct job_phase;
struct job_run;

/* Attempt @a, on @worker (NULL: on no machine worth a name), has ended, having
 * taken @took_us. */
void job_span_attempt(const struct job_run *r,
                      const struct attempt_record *a,
                      const char *worker,
                      const struct attempt_ending *e);
/* A phase, whose tasks are of @kind, has ended. */
void job_span_phase(const struct job_run *r,
                    enum task_kind kind,
                    const struct job_phase *p);

#endif /* MAPREDUCE_MASTER_JOB_SPANS_H */

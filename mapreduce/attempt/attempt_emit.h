/* The errors of what a job's code emitted and wrote. mr_emit() and its kin
 * return nothing, so that jobs stay short: the attempt asks after each record.
 */
#ifndef MAPREDUCE_ATTEMPT_ATTEMPT_EMIT_H
#define MAPREDUCE_ATTEMPT_ATTEMPT_EMIT_H

#include "base/core/err.h"

struct mr_task;

/* The first error of anything the job's code did through @t, or 0: a misuse of
 * the functions, then the collector's, then the outputs'. Does not park. */
int task_error(const struct mr_task *t, struct err *err);

#endif /* MAPREDUCE_ATTEMPT_ATTEMPT_EMIT_H */

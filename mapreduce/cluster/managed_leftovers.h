/* What masters leave of a kept job that do not go on with it: one that died in
 * a job of several parts, which are started again under other names, and one
 * that came to itself when another had ended the job. (A job that has no parts
 * is gone on with under its name: nothing of it is left.)
 *
 * Of the job's task. Parks.
 */
#ifndef MAPREDUCE_CLUSTER_MANAGED_LEFTOVERS_H
#define MAPREDUCE_CLUSTER_MANAGED_LEFTOVERS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct managed_job;
struct mr_options;

/* Remove what the parts of @j that a master before had begun have left, below
 * the history of @o, in its tables, and beside the outputs. */
MUST_CHECK int kept_parts_forget(struct managed_job *j,
                                 const struct mr_options *o,
                                 struct err *err);

/* This master is none any more: remove what it made of @j behind the job's end.
 * Nothing if the job has not ended. */
void managed_job_forget_late(struct managed_job *j);

#endif /* MAPREDUCE_CLUSTER_MANAGED_LEFTOVERS_H */

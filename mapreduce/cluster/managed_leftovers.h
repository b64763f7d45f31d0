/* Leftovers of masters that do not continue a job: of one that died in a
 * driver, whose parts are started again under other names, and of one that was
 * delayed while another ended the job. (A job without parts is resumed under
 * its name: nothing of it is left.)
 *
 * Of the job's task. Parks.
 */
#ifndef MAPREDUCE_CLUSTER_MANAGED_LEFTOVERS_H
#define MAPREDUCE_CLUSTER_MANAGED_LEFTOVERS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct managed_job;
struct mr_options;

/* Remove what the parts of @j that an earlier master had begun left, below the
 * history of @o, in its tables, and beside the outputs. */
MUST_CHECK int kept_parts_forget(struct managed_job *j,
                                 const struct mr_options *o,
                                 struct err *err);

/* This process is no longer the master: remove what it made of @j after the
 * job's end. Does nothing if the job has not ended. */
void managed_job_forget_late(struct managed_job *j);

#endif /* MAPREDUCE_CLUSTER_MANAGED_LEFTOVERS_H */

/* Which files of the cell a job may name. Attempts open files as the worker
 * they run on, which may open all: so what a job names is looked at when it is
 * submitted.
 *
 * Threads: any; nothing here parks.
 */
#ifndef MAPREDUCE_CLUSTER_JOB_PATHS_H
#define MAPREDUCE_CLUSTER_JOB_PATHS_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cluster_roles;
struct mr_options;
struct world;

/* May job @id of @principal name what @o names? Where principals are proved
 * nobody but the cluster itself (@roles; NULL: anybody) names what is the
 * servers' own: tables' files, other jobs, the trash; what the job brings along
 * is what was uploaded for it. ERR_DENIED, ERR_INVALID. */
MUST_CHECK int job_paths_check(const struct cluster_roles *roles,
                               struct slice principal,
                               struct slice id,
                               const struct mr_options *o,
                               struct world *world,
                               struct err *err);

#endif /* MAPREDUCE_CLUSTER_JOB_PATHS_H */

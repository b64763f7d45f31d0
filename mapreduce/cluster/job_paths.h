/* Which files of the cell a job may name. It uses them as who submitted it,
 * except those of the servers, which it uses as the server that it runs on: so
 * that it names none of these is seen to when it is submitted.
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

/* Directories of the root that are the servers' own, which jobs of several use
 * for what goes from one to the next. Ends with NULL. */
extern const char *const job_own_trees[];

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

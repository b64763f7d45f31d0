/* Which files of the cell a job may name. It uses files with the rights of its
 * submitter, except those of the servers, which it uses with the rights of the
 * server that it runs on: hence the check, when a job is submitted, that it
 * names none of these.
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

/* Directories of the root that belong to the servers; drivers use them for
 * files between their jobs. Ends with NULL. */
extern const char *const job_own_trees[];

/* May job @id of @principal name the files of @o? Where principals are proven,
 * only the cluster itself (@roles; NULL: everybody) names files of the servers:
 * tables, other jobs, the trash; the files a job brings along are those
 * uploaded for it. ERR_DENIED, ERR_INVALID. */
MUST_CHECK int job_paths_check(const struct cluster_roles *roles,
                               struct slice principal,
                               struct slice id,
                               const struct mr_options *o,
                               struct world *world,
                               struct err *err);

#endif /* MAPREDUCE_CLUSTER_JOB_PATHS_H */

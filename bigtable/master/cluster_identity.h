/* The cluster that a lock service belongs to. A cluster draws a name when it is
 * founded, and keeps it both in its lock service and in its files. A path in a
 * lock service that others run can be given to two clusters: the master of the
 * second finds that the names differ, and stops before it takes the first one's
 * tables for its own. Private to the master.
 */
#ifndef BIGTABLE_MASTER_CLUSTER_IDENTITY_H
#define BIGTABLE_MASTER_CLUSTER_IDENTITY_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct chubby;
struct fs;

/* Compare the names in @c and in @fs, and make those that are missing; @c holds
 * the master's lock. Parks. Errors: ERR_EXISTS: the lock service has the state
 * of another cluster, which is named; those of reading and writing. */
MUST_CHECK int
cluster_identity_check(struct chubby *c, struct fs *fs, struct err *err);

#endif /* BIGTABLE_MASTER_CLUSTER_IDENTITY_H */

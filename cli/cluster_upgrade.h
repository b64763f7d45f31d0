/* quarry cluster upgrade: raises the version of a cluster whose nodes all speak
 * the newer one (base/core/cluster_version.h).
 *
 * Threads: one; what parks does so on a fiber of its own.
 */
#ifndef CLI_CLUSTER_UPGRADE_H
#define CLI_CLUSTER_UPGRADE_H

#include "cli/command.h"

struct remote;

struct cluster_upgrade {
    bool check_only; /* Change nothing. */
};

extern const struct option upgrade_options[];

/* Ask all nodes that are known what they speak, print that, and raise the
 * cluster to the highest version that all do. On a fiber. Parks. Errors:
 * ERR_UNAVAILABLE (a node does not answer, or nodes may be missing),
 * ERR_UNSUPPORTED (this program does not know the cluster's version),
 * ERR_INVALID (a node is too old: says which), ERR_ABORTED (somebody else
 * raises it), those of the lock service. */
MUST_CHECK int cluster_upgrade_run(struct remote *r,
                                   const struct cluster_upgrade *u,
                                   struct err *err);

#endif /* CLI_CLUSTER_UPGRADE_H */

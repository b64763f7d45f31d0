/* The version of the cluster (base/core/cluster_version.h) as a server process
 * knows it: from the file of its directory when it starts, then from the lock
 * service, whose changes it follows.
 *
 * Invariants
 *     INV-1. `known` never decreases, and is what the file of the directory
 *            says or, after a disk that failed, more (node_version.c).
 *
 * Threads: the server's loop.
 */
#ifndef CLI_NODE_VERSION_H
#define CLI_NODE_VERSION_H

#include <stdint.h>

#include "base/core/cluster_version.h"
#include "base/core/err.h"

struct node_version;
struct role_env;

/* Its file in the process's directory. */
#define NODE_VERSION_FILE "cluster-version"

/* Read the file; none: version 1. @limit: what this process speaks at most; 0:
 * all of its program. Borrows @env. Parks. *@out is owned. Errors:
 * ERR_UNSUPPORTED (the directory's cluster is at another version), ERR_INVALID
 * (@limit), ERR_CORRUPT, ERR_IO. */
MUST_CHECK int node_version_open(const struct role_env *env,
                                 uint64_t limit,
                                 struct node_version **out,
                                 struct err *err);
/* Begin to follow the lock service, in the background. */
void node_version_start(struct node_version *v);
/* Parks. May be called again. */
void node_version_stop(struct node_version *v);
/* Parks. NULL is allowed. */
void node_version_close(struct node_version *v);

/* The version that is known; at least 1. The pointer is good until the end. */
const uint32_t *node_version_known(const struct node_version *v);
struct version_range node_version_range(const struct node_version *v);
/* 0, or why this process must not serve: ERR_UNSUPPORTED. Does not park. */
MUST_CHECK int node_version_health(const struct node_version *v,
                                   struct err *err);

#endif /* CLI_NODE_VERSION_H */

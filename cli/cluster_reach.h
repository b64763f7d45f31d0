/* Does anybody listen where a cluster is said to be? Asked before its services
 * are, whose clients try for as long as an election may take.
 *
 * Threads: any; it blocks its own.
 */
#ifndef CLI_CLUSTER_REACH_H
#define CLI_CLUSTER_REACH_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct world;

/* Wait until one of @addresses ("host:port") takes a connection, trying all at
 * once and again, for at most @timeout_us. Errors: ERR_UNAVAILABLE, naming all
 * addresses and why; ERR_CANCELLED after a Ctrl-C that is watched for. */
MUST_CHECK int cluster_reach(struct world *world,
                             const char *const *addresses,
                             size_t count,
                             uint64_t timeout_us,
                             struct err *err);

#endif /* CLI_CLUSTER_REACH_H */

/* One node of a cluster inside of a Slurm job: what `quarry slurm` has srun
 * start, once for each node.
 *
 * The nodes find each other by files in a directory that all hosts of the job
 * see, which has the form of a cluster's (cluster_nodes.h):
 *
 *     DIR/key            the cluster's key, written before srun starts
 *     DIR/n3/address     where node 3 will listen: HOST:PORT
 *     DIR/n3/server.conf its configuration, once the cell's addresses are known
 *
 * Files appear whole, by a rename. Each node stores on its own host.
 *
 * Threads: one. Blocks.
 */
#ifndef CLI_SLURM_NODE_H
#define CLI_SLURM_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct world;

/* How long nodes wait for each other, if $QUARRY_TIMEOUT says nothing else. */
#define SLURM_START_US UINT64_C(60000000)

/* Has a node's server stop in order, as SIGTERM does. srun passes it on, where
 * it takes a SIGTERM of its own as the order to kill all tasks. */
#define SLURM_END_SIGNAL SIGUSR1

struct slurm_node {
    const char *dir;  /* The cluster's. Borrowed. */
    const char *data; /* Where to store, on this host; NULL: $SLURM_TMPDIR,
                         $TMPDIR or /tmp. A directory of this node's own is made
                         there. Borrowed. */
    bool keep;        /* Do not remove what was stored. */
};

/* Run the node that this task of a job step is, by $SLURM_PROCID and
 * $SLURM_NTASKS, until its server ends. SIGTERM, SIGHUP and SIGUSR2 are passed
 * on to it. Errors: ERR_INVALID (no task of a step), ERR_DEADLINE (other nodes
 * have not come), ERR_UNAVAILABLE (the server ended by itself). */
MUST_CHECK int
slurm_node_run(struct world *w, const struct slurm_node *node, struct err *err);

/* The number in the environment variable @name, from 0 to INT_MAX.
 * ERR_INVALID: it is missing, or something else. */
MUST_CHECK int slurm_number(const char *name, size_t *out, struct err *err);

#endif /* CLI_SLURM_NODE_H */

/* The status of the nodes of a cluster on loopback.
 *
 * Threads: one; each function runs a loop of its own.
 */
#ifndef CLI_CLUSTER_STATUS_H
#define CLI_CLUSTER_STATUS_H

#include <stdbool.h>

#include "base/core/err.h"

struct buf;
struct cli;
struct cluster;
struct cluster_node;

/* The status text of @n (server_host.h), appended to @out. Errors: those of
 * calls; ERR_DEADLINE after a second. */
MUST_CHECK int cluster_ask_node(struct cli *cli,
                                const struct cluster *c,
                                const struct cluster_node *n,
                                struct buf *out,
                                struct err *err);

/* Which role that nodes of @c have does nobody lead yet? *@role: a literal;
 * NULL: each has its leader, which is ready. Errors: those of asking at all. */
MUST_CHECK int cluster_find_leaderless(struct cli *cli,
                                       const struct cluster *c,
                                       const char **role,
                                       struct err *err);

/* The same as cluster_print_status() of the cluster at the addresses of @r:
 * its nodes are those, and all others that they know (monitor.h). On a
 * fiber. Parks. Errors: none of them answers. */
struct remote;
MUST_CHECK int
cluster_print_remote(struct remote *r, bool roles, struct err *err);

/* Ask all nodes at once, and print a row for each, and what they do together;
 * with @roles a row for each of their roles, with all that they say, and one
 * for the file system of them all. */
MUST_CHECK int cluster_print_status(struct cli *cli,
                                    const struct cluster *c,
                                    bool roles,
                                    struct err *err);

#endif /* CLI_CLUSTER_STATUS_H */

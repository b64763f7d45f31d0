/* The principals of the cluster itself: its masters, tablet servers and
 * workers, which give each other orders and may read and write all tables.
 *
 * With certificates a principal is proved; the cluster's are those with its
 * name, this process's own, and those that its configuration names. Without
 * certificates they are the last two, the names of the cluster's processes
 * ("quarry:n1", of the cluster and the node), and every holder of the cluster's
 * key (or, on loopback without a key, every process) may give the orders of a
 * role: names are then claims, and access lists only prevent mistakes of honest
 * users, none of whom has a name with a colon.
 *
 * Threads: immutable once made; any.
 */
#ifndef BASE_RPC_ROLES_H
#define BASE_RPC_ROLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct buf;
struct cluster_roles;
struct rpc_security;

/* The roles of @security, and the names in @trusted (separated by commas;
 * may be NULL). Owned. */
struct cluster_roles *cluster_roles_new(const struct rpc_security *security,
                                        const char *trusted);
void cluster_roles_free(struct cluster_roles *r); /* NULL is allowed. */

/* The same proof for the process of this node as one of the cluster's, which
 * all others of the cluster know it for. PRE: names are not proved; with
 * certificates its own name is. Owned. */
struct rpc_security *cluster_roles_process(const struct rpc_security *security);

/* True if @principal is the cluster itself, as is "", a call inside the
 * process. NULL as @r: everybody is. */
bool cluster_roles_has(const struct cluster_roles *r, struct slice principal);
/* True if it may give the orders of a role; always, where names are not
 * proved. */
bool cluster_roles_may_order(const struct cluster_roles *r,
                             struct slice principal);
/* True if it may make calls on behalf of others: the cluster, and everybody
 * where names are not proved, since anyone could claim the other name there.
 * @roles is a struct cluster_roles: for rpc_server_let_act(). */
bool cluster_roles_may_act(void *roles, struct slice principal);
/* True if names are proved by certificates. */
bool cluster_roles_are_proved(const struct cluster_roles *r);
/* Append all names, a line each: an access list of chubby-lite. */
void cluster_roles_put(const struct cluster_roles *r, struct buf *out);

#endif /* BASE_RPC_ROLES_H */

/* Who of those that call is the cluster itself: its masters, tablet servers and
 * workers, which give each other orders and may read and write all tables.
 *
 * With certificates a principal is proved, and the cluster's are those with its
 * name, this process's own, and what its configuration names. Without them they
 * are the last two, and whoever knows the cluster's key (or reaches a port on
 * loopback, where there is none) may give the orders of a role: the name he
 * gives himself then says no more than what he means to do, and lists of rights
 * keep honest people from mistakes.
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

/* Those of @security, and the names in @trusted (with commas; may be NULL).
 * Owned. */
struct cluster_roles *cluster_roles_new(const struct rpc_security *security,
                                        const char *trusted);
void cluster_roles_free(struct cluster_roles *r); /* NULL is allowed. */

/* Is @principal the cluster itself? "", a call inside of the process, is. @r
 * may be NULL: everybody is. */
bool cluster_roles_has(const struct cluster_roles *r, struct slice principal);
/* May it give orders that only roles give? So may all whose names are not
 * proved. */
bool cluster_roles_may_order(const struct cluster_roles *r,
                             struct slice principal);
/* May it make calls on behalf of others? The cluster may; where names are not
 * proved everybody may, who could as well give himself the other name. Takes
 * struct cluster_roles: for rpc_server_let_act(). */
bool cluster_roles_may_act(void *roles, struct slice principal);
/* Are names proved? */
bool cluster_roles_are_proved(const struct cluster_roles *r);
/* All names, a line each: a list of chubby-lite. */
void cluster_roles_put(const struct cluster_roles *r, struct buf *out);

#endif /* BASE_RPC_ROLES_H */

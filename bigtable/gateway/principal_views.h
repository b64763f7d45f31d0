/* The gateway as each of its callers may use it: the same but for the store,
 * which is a view that acts for the caller (quarry_as()), so that the servers
 * of the cluster check the caller's rights.
 *
 * Invariants
 *     INV-1. There are at most PRINCIPAL_VIEWS_MAX views; the one used longest
 *            ago, and by no call now, goes for a new one. (A few more for as
 *            long as others wait for one to be closed.)
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_GATEWAY_PRINCIPAL_VIEWS_H
#define BIGTABLE_GATEWAY_PRINCIPAL_VIEWS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct gateway;
struct principal_views;

#define PRINCIPAL_VIEWS_MAX 1024

/* Views of @g (borrowed). Owned. */
struct principal_views *principal_views_new(struct gateway *g);
/* PRE: none is in use. Parks. NULL is allowed. */
void principal_views_free(struct principal_views *v);

/* The gateway of @principal: principal_views_release(). Parks. Errors:
 * ERR_EXHAUSTED (too many callers at once), those of quarry_as(). */
MUST_CHECK int principal_views_hold(struct principal_views *v,
                                    const char *principal,
                                    struct gateway **out,
                                    struct err *err);
void principal_views_release(struct principal_views *v, struct gateway *g);

#endif /* BIGTABLE_GATEWAY_PRINCIPAL_VIEWS_H */

/* Queries that run: a bounded number at once, each piece of one on a thread of
 * a pool of their own, so that neither ReadRows nor the loop waits for them.
 *
 * Threads: one loop; pieces run on the pool's.
 *
 * Invariants
 *     INV-1. At most running_max queries have entered; at most
 *            QUERY_WAITING_MAX wait to.
 */
#ifndef BIGTABLE_GATEWAY_QUERY_POOL_H
#define BIGTABLE_GATEWAY_QUERY_POOL_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct query_pool;
struct world;

#define QUERY_RUNNING_DEFAULT 4
#define QUERY_WAITING_MAX     64

struct query_pool *query_pool_new(struct world *w, unsigned running_max);
/* PRE: no query has entered. Parks. NULL is allowed. */
void query_pool_free(struct query_pool *p);

/* Wait until the query may run; query_pool_leave(). Parks. Errors:
 * ERR_EXHAUSTED (too many wait), ERR_CANCELLED, ERR_DEADLINE. */
MUST_CHECK int query_pool_enter(struct query_pool *p, struct err *err);
void query_pool_leave(struct query_pool *p);

/* Run fn(arg) on a thread of the pool and wait for its end. When the fiber is
 * cancelled or its time is over, interrupt(arg) (NULL: nothing) is called again
 * and again until fn returns. PRE: entered. Parks. */
void query_pool_run(struct query_pool *p,
                    void (*fn)(void *arg),
                    void (*interrupt)(void *arg),
                    void *arg);

#endif /* BIGTABLE_GATEWAY_QUERY_POOL_H */

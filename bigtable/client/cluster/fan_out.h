/* The same work for many things, some at a time.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_FAN_OUT_H
#define BIGTABLE_CLIENT_CLUSTER_FAN_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct loop;

/* One turn of a worker; sets *@more to false when there is nothing left to do.
 * An error ends the work of all. */
typedef int (*fan_fn)(void *ctx, bool *more, struct err *err);

/* Call fn(ctx) from @workers fibers of @loop, which have the caller's deadline,
 * until it says that there is no more, or fails; returns the first failure.
 * Parks. */
MUST_CHECK int fan_out(struct loop *loop,
                       unsigned workers,
                       fan_fn fn,
                       void *ctx,
                       struct err *err);

#endif /* BIGTABLE_CLIENT_CLUSTER_FAN_OUT_H */

/* The same work for many items of a target: on a cluster several at a time, for
 * each of them waits for answers; on a directory one after the other, for there
 * the log is one file, and who waits for its sync covers those before.
 *
 * Threads: any may call. The work of a cluster runs on fibers of its loop,
 * while the caller waits: no two of its steps between parking calls overlap.
 */
#ifndef BIGTABLE_CLIENT_PARALLEL_FOR_H
#define BIGTABLE_CLIENT_PARALLEL_FOR_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct quarry;

/* Items of a cluster that are worked on at once, at most. */
#define PARALLEL_ITEMS_MAX 32

/* Work on item @i. May call what quarry.h has, and park. */
typedef int (*parallel_fn)(void *ctx, size_t i, struct err *err);

/* Call fn(ctx, i) for each i below @count, in no order. After the first failure
 * no further items are begun; it is returned when those under way have ended.
 * The caller's deadline holds for all. Parks. */
MUST_CHECK int quarry_parallel_for(struct quarry *q,
                                   size_t count,
                                   parallel_fn fn,
                                   void *ctx,
                                   struct err *err);

#endif /* BIGTABLE_CLIENT_PARALLEL_FOR_H */

/* The numbers that a source of timestamps gives out: about µs since 1970, and
 * they only rise. A bound above all of them is kept on a disk; a source that
 * continues from such a bound begins there, whatever its clock says, and lets
 * time pass at half its pace until the clock has caught up, so that leases,
 * which are counted in timestamps, run out all the same.
 *
 *     stamp_source_open(&s, bound that was kept, now)
 *     from = stamp_source_next(&s, count, now)
 *     if (stamp_source_is_over(&s, from, count))
 *         keep a higher bound first: s.bound = …
 *     stamp_source_take(&s, from, count)
 *
 * Invariants
 *     INV-1. last < bound: a number is given out only below a bound that is
 *            kept.
 *     INV-2. `last` only rises.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_ROW_STAMP_SOURCE_H
#define BIGTABLE_ROW_STAMP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/panic.h"

/* How far ahead the bound is raised: so often is it written. */
#define STAMP_AHEAD_US ((int64_t)3 * 1000000)

struct stamp_source {
    int64_t last;      /* Given out, or not to be. */
    int64_t bound;     /* Kept. */
    int64_t first;     /* `last` when it was opened, */
    uint64_t since_ns; /* and the monotonic clock then. */
};

/* @bound: as it was kept; 0: none was. */
static inline void
stamp_source_open(struct stamp_source *s, int64_t bound, uint64_t mono_ns)
{
    *s = (struct stamp_source){.bound = bound, .since_ns = mono_ns};
    s->last = s->first = MAX_OF(bound, 1) - 1;
}

/* The first of @count numbers. */
static inline int64_t stamp_source_next(const struct stamp_source *s,
                                        int64_t now_us,
                                        uint64_t mono_ns)
{
    uint64_t passed_us = (mono_ns - s->since_ns) / 1000;
    int64_t from = MAX_OF(s->last + 1, s->first + (int64_t)(passed_us / 2));
    return MAX_OF(from, now_us);
}

/* Must a higher bound be kept before they are given out? */
static inline bool
stamp_source_is_over(const struct stamp_source *s, int64_t from, uint32_t count)
{
    return from + count > s->bound;
}

static inline void
stamp_source_take(struct stamp_source *s, int64_t from, uint32_t count)
{
    PRE(from > s->last && count > 0); /* INV-2 */
    s->last = from + count - 1;
    POST(s->last < s->bound); /* INV-1 */
}

#endif /* BIGTABLE_ROW_STAMP_SOURCE_H */

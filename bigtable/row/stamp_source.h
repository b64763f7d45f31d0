/* The numbers that a source of timestamps gives out: about µs since 1970, and
 * they only rise. A bound above all of them is kept on a disk, and a source
 * that continues from such a bound begins there, whatever its clock says. Where
 * the clock is behind the numbers, because of such a bound or because it was
 * ahead for a while, they let time pass at half its pace until it has caught
 * up: so leases, which are counted in timestamps, run out all the same.
 *
 *     stamp_source_open(&s, bound that was kept, now)
 *     from = stamp_source_next(&s, count, now)
 *     if (stamp_source_is_over(&s, from, count))
 *         keep a higher bound first: s.bound = …
 *     stamp_source_take(&s, from, count, now)
 *
 * Invariants
 *     INV-1. last < bound: a number is given out only below a bound that is
 *            kept.
 *     INV-2. `last` only rises, by at least half of the time that passes
 * between two calls of stamp_source_take().
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
    int64_t last;     /* Given out, or not to be, */
    uint64_t last_ns; /* and the monotonic clock then. */
    int64_t bound;    /* Kept. */
    int64_t first;    /* `last` when it was opened. */
};

/* @bound: as it was kept; 0: none was. */
static inline void
stamp_source_open(struct stamp_source *s, int64_t bound, uint64_t mono_ns)
{
    *s = (struct stamp_source){.bound = bound, .last_ns = mono_ns};
    s->last = s->first = MAX_OF(bound, 1) - 1;
}

/* The first of @count numbers. */
static inline int64_t stamp_source_next(const struct stamp_source *s,
                                        int64_t now_us,
                                        uint64_t mono_ns)
{
    uint64_t passed_us = (mono_ns - s->last_ns) / 1000;
    int64_t from = s->last + MAX_OF(1, (int64_t)(passed_us / 2));
    return MAX_OF(from, now_us);
}

/* Must a higher bound be kept before they are given out? */
static inline bool
stamp_source_is_over(const struct stamp_source *s, int64_t from, uint32_t count)
{
    return from + count > s->bound;
}

static inline void stamp_source_take(struct stamp_source *s,
                                     int64_t from,
                                     uint32_t count,
                                     uint64_t mono_ns)
{
    PRE(from > s->last && count > 0); /* INV-2 */
    s->last = from + count - 1;
    s->last_ns = mono_ns;
    POST(s->last < s->bound); /* INV-1 */
}

#endif /* BIGTABLE_ROW_STAMP_SOURCE_H */

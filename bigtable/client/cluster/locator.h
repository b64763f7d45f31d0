/* Finding tablets: the three levels of METADATA, and what is remembered of
 * them.
 *
 * The lock service names the root tablet, the root tablet those of METADATA,
 * these the tablets of users: three calls when nothing is known. Each answer
 * includes the tablets behind. A caller that finds a location stale forgets it
 * (locator_forget()), one level at a time.
 *
 * Fibers that look for neighbouring rows share calls.
 *
 * Threads: one loop.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_LOCATOR_H
#define BIGTABLE_CLIENT_CLUSTER_LOCATOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cluster;
struct location;
struct locator;

/* Locations kept, unless the options say otherwise. */
#define LOCATIONS_MAX ((size_t)65536)
/* Tablets that one look-up asks for: the one looked for and those behind it. */
#define LOCATIONS_PREFETCHED 32

struct locator_counts {
    uint64_t hits;      /* Answered from what is known, */
    uint64_t misses;    /* and not. */
    uint64_t calls;     /* Of METADATA tablets. */
    uint64_t shared;    /* Waited for somebody else's call instead. */
    uint64_t forgotten; /* Were stale. */
};

/* @max: locations kept; 0: the default. Owned. */
struct locator *locator_new(struct cluster *c, size_t max);
void locator_free(struct locator *l); /* NULL is allowed. */

/* The tablet of @row of @table and its server. *@out is a reference. Parks
 * unless it is known. Errors: ERR_UNAVAILABLE (it may be known later, also
 * where METADATA has no tablet for the row), those of tablet_call() to the
 * tablets of METADATA, ERR_DEADLINE, ERR_CANCELLED. */
MUST_CHECK int locator_find(struct locator *l,
                            uint64_t table,
                            struct slice row,
                            struct location **out,
                            struct err *err);
/* It is not there any more. */
void locator_forget(struct locator *l, const struct location *where);
void locator_forget_table(struct locator *l, uint64_t table);

/* Everything METADATA says of the tablets of @table: calls fn() with each row,
 * in order, until it returns nonzero. Parks; tries again what may succeed. */
struct tablet_bounds;
struct tablet_location;
struct tablet_state;
typedef int (*tablet_seen_fn)(void *ctx,
                              const struct tablet_bounds *bounds,
                              const struct tablet_location *location,
                              const struct tablet_state *state);
MUST_CHECK int locator_walk(struct locator *l,
                            uint64_t table,
                            tablet_seen_fn fn,
                            void *ctx,
                            struct err *err);

/* How often others were asked, or waited for: while it stays the same, all
 * look-ups are of one moment. */
uint64_t locator_wait_count(const struct locator *l);
void locator_get_counts(const struct locator *l,
                        struct locator_counts *out,
                        size_t *known);

#endif /* BIGTABLE_CLIENT_CLUSTER_LOCATOR_H */

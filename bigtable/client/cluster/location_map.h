/* Where tablets are, as far as it is known: ranges of rows of tables, disjoint,
 * each with the server that was last seen to serve it.
 *
 * A later location is truer: it replaces all that it overlaps, unless one of
 * the same tablet has a higher epoch. The map is bounded; locations that were
 * not used for long are removed first.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_LOCATION_MAP_H
#define BIGTABLE_CLIENT_CLUSTER_LOCATION_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* A tablet and its server. Immutable but for its counts, and shared. */
struct location {
    unsigned references;
    bool used; /* Found since the hand passed last. */
    uint64_t table;
    uint64_t tablet;
    uint64_t server; /* Number of its incarnation, */
    uint64_t epoch;  /* and of the assignment. */
    struct slice start;
    struct slice end; /* Empty: no bound. */
    struct slice address;
};

/* A copy of @l with texts of its own; one reference. Owned. */
struct location *location_new(const struct location *l);
/* Take and drop a reference. NULL may be dropped. */
struct location *location_ref(struct location *l);
void location_unref(struct location *l);
/* Does @l hold @row of its table? */
bool location_holds(const struct location *l, struct slice row);

/* INV-1. count <= cap, and count <= max between calls.
 * INV-2. Items are sorted by table and end, and do not overlap.
 */
struct location_map {
    struct location **items; /* By table and end; references. */
    size_t count;
    size_t cap;
    size_t max;
    size_t hand; /* Of the clock that chooses what to remove. */
};

/* An empty map for at most @max locations. */
void location_map_init(struct location_map *m, size_t max);
/* Drop all references. */
void location_map_close(struct location_map *m);
/* NULL when it is not known. Borrowed until the next change of @m. */
struct location *
location_map_find(struct location_map *m, uint64_t table, struct slice row);
/* Take a reference to @l; false, if an assignment of this tablet that is
 * younger is known already. */
bool location_map_put(struct location_map *m, struct location *l);
/* Forget @l, unless something else is known by now. */
void location_map_forget(struct location_map *m, const struct location *l);
/* Forget all of @table. */
void location_map_forget_table(struct location_map *m, uint64_t table);

#endif /* BIGTABLE_CLIENT_CLUSTER_LOCATION_MAP_H */

/* The open tables of a cluster, by name, and the most recently closed ones: to
 * open one of those again costs no call, because the lock service's cache
 * notices changes of their records.
 *
 * Threads: one loop. Nothing parks.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_OPEN_TABLES_H
#define BIGTABLE_CLIENT_CLUSTER_OPEN_TABLES_H

#include <stddef.h>

#include "base/core/hash_map.h"

struct cluster_table;

/* Idle tables kept: each is an open file of the lock service. */
#define IDLE_TABLES_MAX 64

/* INV-1. A table is in the idle list if and only if it is listed and has no
 *        references.
 * INV-2. idle_count is the length of that list, at most IDLE_TABLES_MAX between
 *        calls.
 */
struct open_tables {
    struct hash_map by_name;      /* Of struct cluster_table. */
    struct cluster_table *oldest; /* The list of idle tables. */
    struct cluster_table *newest;
    size_t idle_count;
};

/* An empty set. */
void open_tables_init(struct open_tables *s);
/* PRE: no table is left. */
void open_tables_close(struct open_tables *s);

/* Find the table @name and take a reference to it; NULL: there is none. */
struct cluster_table *open_tables_find(struct open_tables *s, const char *name);
/* Add @t, which has a reference. PRE: its name is not listed. */
void open_tables_add(struct open_tables *s, struct cluster_table *t);
/* Remove @t from the names, unless it has been removed already. */
void open_tables_remove(struct open_tables *s, struct cluster_table *t);
/* The last reference to @t was dropped: keep it as idle. Returns a table that
 * was removed to make room, which the caller frees; NULL: none. */
struct cluster_table *open_tables_rest(struct open_tables *s,
                                       struct cluster_table *t);
/* Remove the oldest idle table, which the caller frees; NULL: none. */
struct cluster_table *open_tables_take_idle(struct open_tables *s);

#endif /* BIGTABLE_CLIENT_CLUSTER_OPEN_TABLES_H */

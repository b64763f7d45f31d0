/* The tables of a cluster that are open, by name, and the last ones that were:
 * opening one of them again asks nobody, because the lock service tells of
 * changes of their records.
 *
 * Threads: one loop. Nothing parks.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_OPEN_TABLES_H
#define BIGTABLE_CLIENT_CLUSTER_OPEN_TABLES_H

#include <stddef.h>

#include "base/core/hash_map.h"

struct cluster_table;

/* Kept without users: each is an open file of the lock service. */
#define IDLE_TABLES_MAX 64

struct open_tables {
    struct hash_map by_name;      /* Of struct cluster_table. */
    struct cluster_table *oldest; /* Of those that nobody uses, */
    struct cluster_table *newest;
    size_t idle_count; /* so many. */
};

void open_tables_init(struct open_tables *s);
/* PRE: none is left. */
void open_tables_close(struct open_tables *s);

/* The one called @name, whose user the caller is by then; NULL: none. */
struct cluster_table *open_tables_find(struct open_tables *s, const char *name);
/* Add @t, which has a user. PRE: none of its name is there. */
void open_tables_add(struct open_tables *s, struct cluster_table *t);
/* Nobody is to find @t any more; it may have been removed already. */
void open_tables_remove(struct open_tables *s, struct cluster_table *t);
/* The last user of @t, which is there, went. Returns one to be freed, which is
 * not there any more; NULL: none. */
struct cluster_table *open_tables_rest(struct open_tables *s,
                                       struct cluster_table *t);
/* Any without users, not there any more; NULL: none. */
struct cluster_table *open_tables_take_idle(struct open_tables *s);

#endif /* BIGTABLE_CLIENT_CLUSTER_OPEN_TABLES_H */

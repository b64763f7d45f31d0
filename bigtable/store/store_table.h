/* A table: a name, and a view of its schema and tablets at one moment.
 *
 * In the embedded store a table has all its tablets; in a tablet server each
 * tablet has a table of its own, with a copy of the schema.
 *
 * A change of schema or tablets holds the table's change_lock from its start to
 * its end, and keeps writers out while it matters: it closes the table under
 * the write turn, does what takes long without it (the change may have to be
 * written down in another table of the same store), and puts the new view in
 * force under the turn again.
 *
 * Threads: any. A view is immutable; whoever uses one holds a reference. It is
 * replaced under the write turn.
 */
#ifndef BIGTABLE_STORE_STORE_TABLE_H
#define BIGTABLE_STORE_STORE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/manifest_state.h" /* TABLE_NAME_BYTES_MAX */

struct done_changes;
struct store;
struct tablet;

struct store_table_view {
    atomic_uint references;
    struct schema *schema; /* Owned. */
    uint64_t generation;   /* Changes with the schema. */
    size_t tablet_count;
    struct tablet *tablets[]; /* Referenced; ascending, without gaps. */
};

/* Invariants
 *     INV-1  stamped_us never goes down, and is at least the stamp of every
 *            cell that the table gave one. */
struct store_table {
    atomic_uint references;
    struct store *store; /* Borrowed. */
    uint64_t id;
    char name[TABLE_NAME_BYTES_MAX + 1];
    bool is_system;                /* Others wait for writes to it: these never
                                      wait for memory. */
    struct mutex change_lock;      /* One change at a time. */
    struct mutex lock;             /* Of what follows; */
    struct cond opened;            /* both change under the write turn, too. */
    struct store_table_view *view; /* NULL: the table was dropped. */
    bool closed;                   /* Writers wait. */
    struct done_changes *done; /* Of a tablet server; NULL: nobody asks again.
                                */
    atomic_llong
        stamped_us; /* Newest stamp given, see store_table_stamp_us(). */
};

/* @tablets' references move in; @schema is copied. One reference. */
struct store_table_view *store_table_view_new(const struct schema *schema,
                                              uint64_t generation,
                                              struct tablet *const *tablets,
                                              size_t count);
void store_table_view_unref(
    struct store_table_view *v); /* NULL is allowed. Parks. */
/* The tablet that holds @row, and its index. Borrowed. */
struct tablet *store_table_view_find(const struct store_table_view *v,
                                     struct slice row,
                                     size_t *index);
/* Index of the schema's group with @id. PRE: it has it. */
size_t store_table_view_group(const struct store_table_view *v, uint32_t id);

/* Read-modify-write stamps in whole milliseconds, the granularity of tables in
 * the public API: clients there refuse to write a cell back at any other time.
 */
#define TABLE_COARSE_US INT64_C(1000)

/* The stamp of what is written now, when the machine's clock says @wall_us: a
 * hybrid logical clock, which follows the machine's but never goes back. It is
 * kept in the log and in the manifest, or in METADATA, and so over restarts,
 * moves, splits, merges and recoveries. */
int64_t store_table_stamp_us(const struct store_table *t, int64_t wall_us);
/* @us was given as a stamp. Any thread. */
void store_table_note_stamp(struct store_table *t, int64_t us);

struct store_table *
store_table_new(struct store *store, uint64_t id, const char *name);
struct store_table *store_table_ref(struct store_table *t);
void store_table_unref(struct store_table *t); /* NULL is allowed. Parks. */

/* The view in force, referenced; NULL when the table was dropped. */
struct store_table_view *store_table_get_view(struct store_table *t);
/* Is @v in force? Cheap. PRE: the write turn is held. */
bool store_table_view_is_current(const struct store_table *t,
                                 const struct store_table_view *v);
/* Put @v (NULL: drop) in force; its reference moves in. Parks. */
void store_table_set_view(struct store_table *t, struct store_table_view *v);
/* Keep writers out from now on, and let them in again. PRE: the write turn is
 * held. */
void store_table_close_writes(struct store_table *t);
void store_table_open_writes(struct store_table *t);
/* Wait until writers are let in. Parks. */
void store_table_wait_open(struct store_table *t);
/* The message for a dropped table; returns ERR_NOTFOUND. */
int store_table_gone(const struct store_table *t, struct err *err);

#endif /* BIGTABLE_STORE_STORE_TABLE_H */

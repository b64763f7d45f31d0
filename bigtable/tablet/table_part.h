/* The part of a user's table that a store serves as one unit: a schema, the
 * tablets of the part, and the clock of its stamps.
 *
 * In the embedded store the part is the whole table. In a tablet server it is
 * one tablet, because tablets come and go alone, and each may have a newer or
 * an older schema than its neighbour; so several parts there have the id and
 * the name of one table.
 *
 * Schema and tablets of one moment form a view. A change holds the part's
 * change_lock from its start to its end. It closes the part to writers under
 * the write turn, does the slow work without the turn (the change may have to
 * be recorded in another table of the same store), and then puts the new view
 * in force under the turn.
 *
 * Threads: any. A view is immutable and shared by reference count. Once the
 * part is served, its view is replaced under the write turn.
 *
 * Invariants
 *     INV-1  stamped_us never decreases, and is at least the stamp of every
 *            cell that the part has stamped. (table_part_note_stamp)
 *     INV-2  The tablets of a view are in order of rows, and each ends where
 *            the next one starts. (table_part_view_new)
 *     INV-3  A part is freed only after its view was taken away, by a drop, an
 *            unload or the closing of the store. (table_part_unref)
 *     INV-4  A part is opened only when it is closed. It may be closed twice:
 *            an unload closes it, and again when it gives it up; one opening
 *            ends both. (table_part_open_writes)
 */
#ifndef BIGTABLE_TABLET_TABLE_PART_H
#define BIGTABLE_TABLET_TABLE_PART_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/row/schema.h"

struct done_changes;
struct tablet;

struct table_part_view {
    atomic_uint references;
    struct schema *schema; /* Owned. */
    uint64_t generation;   /* Changes with the schema. */
    size_t tablet_count;
    struct tablet *tablets[]; /* Referenced; ascending, without gaps. */
};

struct table_part {
    atomic_uint references;
    uint64_t id;
    char name[TABLE_NAME_BYTES_MAX + 1];
    bool is_system;           /* Other writes depend on writes to it, so
                                 these never wait for memory. */
    struct mutex change_lock; /* One change at a time. */
    struct mutex lock;        /* Guards view and closed, which change only
                                 under the write turn. */
    struct cond opened;
    struct table_part_view *view; /* NULL: dropped. */
    bool closed;                  /* Writers wait. */
    struct done_changes *done;    /* Owned; NULL in an embedded store, whose
                                     clients do not repeat changes. */
    atomic_bool has_transactions; /* As the view's schema says; it stays. */
    atomic_llong stamped_us;      /* Newest stamp, see table_part_stamp_us(). */
};

/* A view of @tablets, whose references move in; @schema is copied. One
 * reference, the caller's. PRE: @tablets are neighbours, in order of rows. */
struct table_part_view *table_part_view_new(const struct schema *schema,
                                            uint64_t generation,
                                            struct tablet *const *tablets,
                                            size_t count);
/* The last reference releases the tablets, which may park. NULL is allowed. */
void table_part_view_unref(struct table_part_view *v);
/* The tablet whose range is nearest to @row: the one that holds it, unless the
 * part has only other rows. Borrowed from @v. *@index (NULL is allowed) is its
 * place. PRE: @v has a tablet. */
struct tablet *table_part_view_find(const struct table_part_view *v,
                                    struct slice row,
                                    size_t *index);
/* Index of the schema's group with @id. PRE: it has it. */
size_t table_part_view_group(const struct table_part_view *v, uint32_t id);

/* Read-modify-write stamps in whole milliseconds, the granularity of tables in
 * the public API: clients there refuse to write a cell back at any other time.
 */
#define TABLE_COARSE_US INT64_C(1000)

/* The stamp of a write at @wall_us of the machine's clock: a hybrid logical
 * clock, which follows the machine's clock but never goes back. The newest
 * stamp is kept in the log and in the manifest, or in METADATA, and so survives
 * restarts, moves, splits, merges and recoveries. */
int64_t table_part_stamp_us(const struct table_part *t, int64_t wall_us);
/* Record that @us was given as a stamp. Any thread. */
void table_part_note_stamp(struct table_part *t, int64_t us);

/* A part without a view, of table @id, @name. @done moves in; NULL: clients do
 * not repeat changes. One reference, the caller's. */
struct table_part *
table_part_new(uint64_t id, const char *name, struct done_changes *done);
/* One more reference. Returns @t. */
struct table_part *table_part_ref(struct table_part *t);
/* PRE of the last one: the part has no view. NULL is allowed. */
void table_part_unref(struct table_part *t);

/* The view in force, with one more reference, the caller's; NULL when the table
 * was dropped. */
struct table_part_view *table_part_get_view(struct table_part *t);
/* True if @v is in force. Cheap. PRE: the write turn is held. */
bool table_part_view_is_current(const struct table_part *t,
                                const struct table_part_view *v);
/* Put @v (NULL: drop) in force; its reference moves in. Parks. */
void table_part_set_view(struct table_part *t, struct table_part_view *v);
/* Keep writers out from now on; no-op when they are out already. Let them in
 * again; PRE: they are out. PRE of both: the write turn is held. */
void table_part_close_writes(struct table_part *t);
void table_part_open_writes(struct table_part *t);
/* Wait until writers are let in. Parks. */
void table_part_wait_open(struct table_part *t);
/* Set the message for a dropped table. Returns ERR_NOTFOUND. */
int table_part_gone(const struct table_part *t, struct err *err);

#endif /* BIGTABLE_TABLET_TABLE_PART_H */

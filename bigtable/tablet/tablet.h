/* A tablet: the rows [start, end) of one table, one lsm per locality group.
 *
 * A tablet never changes its range. A split makes two new tablets over the same
 * files and retires the old one, which lives on while a reader holds it.
 *
 * Threads
 *     References and snapshots: any thread. Entries are inserted and memtables
 *     frozen by the leader of the oldest group under way or by the holder of
 *     the write turn, which exclude each other (write_queue.h). Flushes and
 *     compactions are the background's (background.h), or of a caller who asks
 *     for one (maintain.h).
 *
 * Invariants
 *     INV-1. groups[i] stores the families of the schema's group number i;
 *            groups are added, never removed.
 *     INV-2. A group is clean when last_sequence <= flushed_sequence;
 *            otherwise all its entries that are in no table have numbers from
 *            low_sequence on.
 *     INV-3. crossing_count is the number of the files that are crossing.
 *     INV-4. One memtable of a tablet is frozen at a time, and freeze_epoch is
 *            odd exactly then. (Other tablets may be frozen meanwhile: one
 *            that is being loaded needs no write turn.)
 *     INV-5. A tablet is closed when no job works on a group of it: each job
 *            has a reference.
 */
#ifndef BIGTABLE_TABLET_TABLET_H
#define BIGTABLE_TABLET_TABLET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/load_meter.h"
#include "bigtable/tablet/tablet_heat.h"

struct skip_batch;
struct table_part;
struct tablet_changes;
struct tablet_env;

struct tablet_file {
    uint64_t number;
    bool crossing; /* It holds rows outside of the tablet: a split left it. */
};

struct tablet_group {
    struct tablet *tablet; /* That it belongs to. */
    uint32_t id;           /* Of the schema's group. */
    bool hidden; /* That of transactions: a deletion of the row spares it. */
    struct lsm *lsm;
    uint64_t memtable_bytes;        /* Freeze at this size. */
    atomic_ullong flushed_sequence; /* At or below: in tables of `lsm`. */
    atomic_ullong low_sequence;     /* See INV-2. */
    atomic_ullong last_sequence;    /* Newest entry inserted. */
    struct mutex edit_lock;         /* Of the three below; over a commit. */
    struct tablet_file *files;      /* It refers to. Owned. */
    size_t file_count;
    atomic_size_t crossing_count; /* Of them. */
    atomic_bool retired;          /* No edit is committed any more. */
    /* Under the background's lock: */
    bool flushing;
    bool compacting;
    bool broken; /* A compaction met damage: none is tried again. */
};

struct tablet {
    atomic_uint references;
    struct tablet_env *env;   /* Borrowed. */
    struct table_part *table; /* Referenced. */
    uint64_t id;
    uint64_t life;    /* Another for each time that it is opened. */
    struct buf start; /* Plain row names; an empty end is no bound. */
    struct buf end;
    struct buf start_key; /* The same as encoded keys; empty: no bound. */
    struct buf end_key;
    atomic_ullong freeze_epoch; /* Odd while a memtable is being frozen. */
    atomic_size_t group_count;
    struct tablet_group *groups[GROUP_COUNT_MAX]; /* Owned. */
    struct tablet_changes *changes;               /* Owned. */
    struct load_meter load;
    struct tablet_heat heat; /* Used if the environment has a log for it. */
    atomic_bool lost; /* It is another server's, or the server ends: no jobs any
                         more. */
    /* Under the background's lock: */
    unsigned paused;   /* No new jobs while above 0. */
    bool split_failed; /* It stays one tablet. */
    bool splitting;
    /* Set when its rows were found to be too few for a split, or a
     * split failed: as long as its files have fewer bytes, and as many of them
     * are shared, nobody looks again. */
    uint64_t split_after_bytes;
    size_t split_crossing;
    /* Of its rows, when it was too large and there was no row to cut at; else
     * 0. */
    atomic_ullong unsplittable_bytes;
};

struct tablet *tablet_ref(struct tablet *t);
/* The last one closes it and its groups. Parks. NULL is allowed. */
void tablet_unref(struct tablet *t);

/* Let the groups take over the options of @schema: for files they begin from
 * now on. PRE: its table is closed to writers. */
void tablet_set_options(struct tablet *t, const struct schema *schema);

/* From now on its flushes and compactions fail with ERR_CANCELLED. Parks. */
void tablet_retire(struct tablet *t);
/* Between the two none of them commits anything; @retired: nor afterwards.
 * Parks.
 */
void tablet_hold_edits(struct tablet *t);
void tablet_release_edits(struct tablet *t, bool retired);

bool tablet_contains(const struct tablet *t, struct slice row);

static inline bool tablet_group_is_clean(const struct tablet_group *g)
{
    return atomic_load(&g->last_sequence) <= atomic_load(&g->flushed_sequence);
}

/* Count an operation on rows at and behind @key for the picture of heat,
 * @weight times: @rows and @bytes of it. For tablet_note_heat(). */
void tablet_add_heat(struct tablet *t,
                     const struct heat_operation *op,
                     unsigned weight);

/* An operation was done that the meter answered with @metered: count it, if it
 * is one of those that are. */
static inline void tablet_note_heat(struct tablet *t,
                                    const struct heat_operation *op,
                                    uint64_t metered)
{
    unsigned weight = heat_weight(metered);
    if (weight)
        tablet_add_heat(t, op, weight);
}

/* Put one entry into the memtable, in the course of @batch, or at once (NULL).
 * PRE: nobody else inserts or freezes until the batch ends: see Threads. */
void tablet_group_insert(struct tablet_group *g,
                         struct skip_batch *batch,
                         struct slice key,
                         struct slice value,
                         uint64_t sequence);
/* Freeze its memtable, if it holds anything. PRE: nobody else inserts or
 * freezes (see Threads), and every entry so far has at most @sequence. */
void tablet_group_freeze(struct tablet_group *g, uint64_t sequence);

/* The number of the last entry that was inserted since it was opened: the end
 * of a commit when no commit is being inserted. All entries of all groups up to
 * it are in their memtables or tables, also in the middle of a replay. */
uint64_t tablet_last_sequence(const struct tablet *t);

/* Its tables that hold changes, as change files. @*out is owned, its keys are
 * borrowed until the tablet changes. */
struct change_file_info;
void tablet_change_tables(const struct tablet *t,
                          struct change_file_info **out,
                          size_t *count);

/* Bytes of its SSTables; one that a split left counts as half. */
uint64_t tablet_table_bytes(const struct tablet *t);
/* The files it refers to that hold rows of others too. */
size_t tablet_crossing_files(const struct tablet *t);

/* One consistent state of all groups. */
struct tablet_snapshot {
    struct tablet *tablet; /* Referenced. */
    uint64_t sequence;     /* Entries above it are not seen. */
    size_t group_count;
    struct lsm_snapshot *groups[GROUP_COUNT_MAX];
};

/* Any thread; never waits long. */
void tablet_snapshot_take(struct tablet *t, struct tablet_snapshot *s);
void tablet_snapshot_drop(struct tablet_snapshot *s);

#endif /* BIGTABLE_TABLET_TABLET_H */

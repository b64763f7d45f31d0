/* The state that a manifest describes (tables, tablets, SSTables), and how
 * edits change it: the manifest without its file.
 *
 *     edit  = op…
 *     op    = 1 next_number next_table next_tablet sequence      (varints)
 *           | 2 table id, name:lslice, schema:lslice             put a table
 *           | 3 table id                                         drop it
 *           | 4 tablet id, table id, start:lslice, end:lslice,
 *               group count, group…                              put a tablet
 *           | 5 tablet id                                        drop it
 *           | 6 tablet id, group id, flushed sequence,
 *               removed count, number…, added count, file…       change a group
 *           | 7 tablet id, count, load id…                       loads it has
 *           | 8 tablet id, time                                  newest stamp
 *           | 9 tablet id, changes:lslice                        for clients
 *           | 10 position, count, number…                        the commit log
 *           | 11 name:lslice                                     a snapshot
 *           | 12 name:lslice                                     drop it
 *           | 13 position, count, (number, bytes)…               10 and lengths
 *           | 14 tablet id, floor, floor time, removed count, number…,
 *               added count, change file…                        its changes
 *           | 15 tablet id                                       it keeps none
 *     group = id, flushed sequence, file count, file…
 *     file  = number, bytes, entries, sequence min, sequence max, run,
 *             first key:lslice, last key:lslice
 *     change file = group id, end sequence, first time, last time, file
 *
 * The same operations describe a change and, all in one edit, a whole state.
 * Applying is checked: an edit that refers to what is not there is corrupt,
 * except that a snapshot may be put or dropped twice.
 *
 * Threads: the owner's.
 *
 * Invariants, after an edit was applied without an error
 *     INV-1. A tablet's table is there; no two tables, and no two tablets, have
 *            one id.
 *     INV-2. next_number, next_table and next_tablet are above all numbers and
 *            ids in the state, and never fall.
 *     INV-3. sequence is at least the sequence_max of every file, and never
 *            falls.
 *     INV-4. log_segments ascend by their numbers, and snapshots have no name
 *            twice.
 */
#ifndef BIGTABLE_STORE_MANIFEST_STATE_H
#define BIGTABLE_STORE_MANIFEST_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/tablet_changes.h" /* struct changes_record */

struct log_named_segment;

struct manifest_group {
    uint32_t id;
    uint64_t flushed_sequence; /* Everything at or below it is in `files`. */
    struct lsm_table *files;   /* Owned, and so are their keys. */
    size_t file_count;
};

/* Ids of bulk loads that a tablet remembers, the newest ones. */
#define TABLET_LOADS_MAX 32

struct manifest_tablet {
    uint64_t id;
    uint64_t table;
    struct buf start; /* Plain row names: [start, end); an empty end is none. */
    struct buf end;
    struct manifest_group *groups; /* Owned. */
    size_t group_count;
    uint64_t loads[TABLET_LOADS_MAX]; /* Oldest first. */
    size_t load_count;
    struct buf done;    /* Changes that clients may ask for again: as
                           done_changes.h encodes them. */
    int64_t stamped_us; /* Newest stamp it gave a cell, or later; 0: none. */
    struct changes_record changes;
};

struct manifest_table {
    uint64_t id;
    char name[TABLE_NAME_BYTES_MAX + 1];
    struct schema *schema; /* Owned. */
};

struct manifest_state {
    uint64_t next_number; /* Of files, and so on: never used before. */
    uint64_t next_table;
    uint64_t next_tablet;
    uint64_t sequence;             /* A lower bound of the last one given. */
    struct manifest_table *tables; /* Owned. */
    size_t table_count;
    struct manifest_tablet *tablets; /* Owned. */
    size_t tablet_count;
    struct log_named_segment *log_segments; /* See log_extent. Owned. */
    size_t log_segment_count;
    uint64_t log_position;
    char **snapshots; /* Names whose records must be there. Owned. */
    size_t snapshot_count;
};

void manifest_state_init(struct manifest_state *s);
void manifest_state_close(struct manifest_state *s);

/* Apply all operations of @edit. On error @s is partly changed: throw it away.
 * Errors: ERR_CORRUPT. */
MUST_CHECK int manifest_state_apply(struct manifest_state *s,
                                    struct slice edit,
                                    struct err *err);
/* Append the edit that makes @s of an empty state. */
void manifest_state_encode(const struct manifest_state *s, struct buf *out);

/* Borrowed; NULL when there is none. */
struct manifest_tablet *manifest_state_tablet(const struct manifest_state *s,
                                              uint64_t id);
struct manifest_group *manifest_tablet_group(const struct manifest_tablet *t,
                                             uint32_t id);

/* Building of edits. */
void edit_put_counters(struct buf *edit,
                       uint64_t next_number,
                       uint64_t next_table,
                       uint64_t next_tablet,
                       uint64_t sequence);
void edit_put_table(struct buf *edit,
                    uint64_t id,
                    const char *name,
                    const struct schema *schema);
/* See struct log_extent. */
void edit_put_log(struct buf *edit,
                  const struct log_named_segment *segments,
                  size_t count,
                  uint64_t position);
void edit_put_snapshot(struct buf *edit, const char *name);
void edit_drop_snapshot(struct buf *edit, const char *name);
void edit_drop_table(struct buf *edit, uint64_t id);
/* @groups' files need not be owned. */
void edit_put_tablet(struct buf *edit,
                     uint64_t id,
                     uint64_t table,
                     struct slice start,
                     struct slice end,
                     const struct manifest_group *groups,
                     size_t group_count);
/* The last part of it alone: group count, group…; and the whole, with such a
 * part (empty: no group). */
void edit_put_groups(struct buf *out,
                     const struct manifest_group *groups,
                     size_t group_count);
void edit_put_tablet_of(struct buf *edit,
                        uint64_t id,
                        uint64_t table,
                        struct slice start,
                        struct slice end,
                        struct slice groups);
/* The bulk loads that @tablet, which is there, has taken; none: nothing is
 * appended. */
void edit_put_loads(struct buf *edit,
                    uint64_t tablet,
                    const uint64_t *loads,
                    size_t count);
/* The newest stamp that @tablet, which is there, gave (table_part_stamp_us());
 * 0: nothing is appended. */
void edit_put_stamp(struct buf *edit, uint64_t tablet, int64_t stamped_us);
/* All changes that @tablet, which is there, remembers, in the place of those
 * before (done_changes_encode()); none: nothing is appended if @fresh, because
 * it has none yet. */
void edit_put_done(struct buf *edit,
                   uint64_t tablet,
                   struct slice done,
                   bool fresh);
/* @tablet, which is there, keeps its changes: @change is made of its files.
 * The others tell the whole of @r, or of that which is in rows from @lower to
 * @upper (keys; empty: no bound); nothing is appended if it keeps none. */
void edit_put_changes(struct buf *edit,
                      uint64_t tablet,
                      const struct changes_edit *change);
void edit_put_changes_of(struct buf *edit,
                         uint64_t tablet,
                         const struct changes_record *r,
                         struct slice lower,
                         struct slice upper);
/* The operation without its tablet, for all of @r; nothing if it keeps none.
 * And the operation of such bytes, if there are any. */
void edit_put_changes_part(struct buf *out, const struct changes_record *r);
void edit_put_changes_from(struct buf *edit,
                           uint64_t tablet,
                           struct slice part);
/* It keeps them no more. */
void edit_drop_changes(struct buf *edit, uint64_t tablet);
void edit_drop_tablet(struct buf *edit, uint64_t id);
void edit_change_group(struct buf *edit,
                       uint64_t tablet,
                       uint32_t group,
                       const struct lsm_edit *change);

/* Files that @edit adds: calls @fn for each. PRE: @edit was applied once, so it
 * is well-formed. */
void edit_added_files(struct slice edit,
                      void (*fn)(void *ctx, uint64_t number),
                      void *ctx);

/* Does @edit leave every table with the rows it had, counting those in the log?
 * So do flushes, compactions, snapshots and the log's own list. An edit that
 * cannot be read does not. */
bool edit_keeps_rows(struct slice edit);

#endif /* BIGTABLE_STORE_MANIFEST_STATE_H */

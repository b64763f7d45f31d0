/* The entries of one locality group for one row or a range: from the scan cache
 * where the row is in it, else merged from memtables and tables.
 *
 * Threads: one at a time.
 *
 * Invariants
 *     INV-1. An open source has an iterator or a row of the cache, and not
 *            both.
 *     INV-2. The pairs of a row of the cache lie in its bytes.
 */
#ifndef BIGTABLE_READ_ROW_SOURCE_H
#define BIGTABLE_READ_ROW_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/lsm/lsm.h"
#include "bigtable/row/read_row.h" /* struct entry_source */

struct explain_tablet;
struct scan_entry;
struct tablet_env;
struct tablet;

/* The row to read, and where it is. */
struct row_place {
    struct tablet_env *env;
    const struct tablet *tablet;
    size_t group; /* Index. */
    uint64_t generation;
    struct slice row;     /* Plain name. */
    struct slice encoded; /* The same, as keys begin with it. */
    struct lsm_snapshot *snapshot;
    uint64_t complete; /* Entries up to this number are in the snapshot. */
};

struct row_source {
    struct lsm_iter *iter;     /* Owned; or */
    struct scan_entry *cached; /* referenced. */
    size_t at;                 /* Of its pairs. */
    bool is_past;    /* An entry may be there twice, and is shown once: */
    struct buf last; /* its key. */
    struct explain_tablet *explain; /* Borrowed; NULL: its pairs are not
                                       counted. */
};

/* Over @snapshot (borrowed), as @opts say. */
MUST_CHECK int row_source_open(struct row_source *s,
                               struct lsm_snapshot *snapshot,
                               const struct lsm_read_options *opts,
                               struct err *err);

/* The same over a snapshot of the past (changes/change_as_of.h). */
MUST_CHECK int row_source_open_past(struct row_source *s,
                                    struct lsm_snapshot *snapshot,
                                    const struct lsm_read_options *opts,
                                    struct err *err);

/* Over the row of @place; opts->probe_row is that row, too. Parks. */
MUST_CHECK int row_source_open_row(struct row_source *s,
                                   const struct row_place *place,
                                   const struct lsm_read_options *opts,
                                   struct err *err);
void row_source_close(struct row_source *s);

/* @s as a row_reader wants it; borrowed. */
struct entry_source row_source_entries(struct row_source *s);

#endif /* BIGTABLE_READ_ROW_SOURCE_H */

/* The rules of a read, modify, write applied to a row as it was read: the cells
 * that it gets.
 *
 * Invariants
 *     INV-1. Of each column that rules name there is one new cell, in the order
 *            of the columns' first rules.
 *     INV-2. A new cell is no older than the one it replaces.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_ROW_ROW_MODIFICATION_H
#define BIGTABLE_ROW_ROW_MODIFICATION_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "bigtable/row/cells.h"
#include "bigtable/row/row_request.h"

struct quarry_mutation;

struct row_modification {
    const struct quarry_rmw_rule *rules; /* Borrowed. */
    size_t rule_count;
    struct buf cells;   /* struct quarry_cell: the new ones; values borrowed. */
    struct buf *values; /* Of `cells`, by index; owned, one a rule. */
};

/* @rules are borrowed. PRE: @count > 0. */
void row_modification_init(struct row_modification *m,
                           const struct quarry_rmw_rule *rules,
                           size_t count);
void row_modification_close(struct row_modification *m);
/* Apply the rules to @row (NULL: there is none), whose newest cell of a column
 * is the first. @now_us is the time of new cells. Cells of a call before are
 * forgotten. ERR_INVALID: an increment of a cell that is no counter. */
MUST_CHECK int row_modification_run(struct row_modification *m,
                                    const struct quarry_row *row,
                                    int64_t now_us,
                                    struct err *err);
/* Append the new cells to @out. */
void row_modification_put(const struct row_modification *m,
                          struct quarry_mutation *out);
/* The new cells as a row; borrowed until the next run. */
struct quarry_row row_modification_row(const struct row_modification *m,
                                       struct slice key);

#endif /* BIGTABLE_ROW_ROW_MODIFICATION_H */

/* Evaluation of a filter over the rows of one read.
 *
 * The leading conditions of a filter that look at one cell at a time are
 * applied while cells stream by, before their values are copied; whatever needs
 * the whole row (interleave, condition, and all behind them) is applied to its
 * cells afterwards.
 *
 * Threads: one at a time; the filter itself is shared and not changed.
 */
#ifndef BIGTABLE_ROW_FILTER_RUN_H
#define BIGTABLE_ROW_FILTER_RUN_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"

struct explain_tablet;
struct filter_run;
struct quarry_filter;

enum filter_verdict {
    FILTER_PASS,
    FILTER_DROP,        /* Not this cell. */
    FILTER_DROP_COLUMN, /* Nor any later one of its column, */
    FILTER_DROP_FAMILY, /* of its family, */
    FILTER_DROP_ROW,    /* of its row. */
    /* Nor any one of its family before column filter_run_next(). */
    FILTER_DROP_TO_COLUMN,
};

/* @f is referenced until free. Errors: a mistake in the filter (ERR_INVALID,
 * ERR_TOOBIG). */
MUST_CHECK int filter_run_new(const struct quarry_filter *f,
                              struct filter_run **out,
                              struct err *err);
void filter_run_free(struct filter_run *r); /* NULL is allowed. */

/* Count cells and rows by stage in @explain (borrowed; NULL: nothing), and the
 * time of one row in eight. Its record has the stages of the filter. */
void filter_run_set_explain(struct filter_run *r,
                            struct explain_tablet *explain);

/* A row begins. False: none of its cells can pass. */
bool filter_run_row(struct filter_run *r, struct slice key);
/* The verdict on @cell, which may be changed (stripped value, label). */
enum filter_verdict filter_run_cell(struct filter_run *r,
                                    struct quarry_cell *cell);
/* The same where filter_run_set_explain() was given a record. */
enum filter_verdict filter_run_cell_explained(struct filter_run *r,
                                              struct quarry_cell *cell);
/* The column at which, or behind which, the next cell of the family may pass.
 * Borrowed. PRE: the last verdict was FILTER_DROP_TO_COLUMN. */
struct slice filter_run_next(const struct filter_run *r);
/* The row is complete: apply the rest. @row's cells are replaced by ones that
 * are borrowed until the next row. Errors: ERR_TOOBIG when the filter
 * multiplies the row's cells without measure. */
MUST_CHECK int filter_run_finish(struct filter_run *r,
                                 struct quarry_row *row,
                                 struct err *err);

#endif /* BIGTABLE_ROW_FILTER_RUN_H */

/* A view at work: the table it is of, its own table, its program.
 *
 * A change of a row is applied by reading the row as it is now, running the
 * program on it, and replacing what the row contributed before by what it does
 * now, in its record and in every group that either is in: one transaction for
 * a batch of rows. It does not matter what the change was, nor whether it is
 * told again: the view is a function of the records.
 *
 * Invariants
 *   INV-1. The state of a group is that of the contributions to it in the
 *          records (`r`), merged; a group without contributions is not there.
 *   INV-2. The record of a row is what the program makes of the row as it was
 *          at some moment not before the row was last told to view_apply().
 *   INV-3. A row that will change by itself has an entry (`e`) of that time,
 *          which its record names.
 *   All three hold at every commit; tests/unit/view checks them at each.
 *
 * Why two maintainers do no harm: a batch begins its transaction before it
 * reads rows. Of two that have read the figures of the view (`m`) before the
 * other committed, one fails and begins again, reading the rows again.
 *
 * Threads: one at a time. Everything parks.
 */
#ifndef BIGTABLE_VIEW_VIEW_CORE_H
#define BIGTABLE_VIEW_VIEW_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_txn.h"
#include "bigtable/view/view_meta.h"
#include "bigtable/view/view_program.h"
#include "bigtable/view/view_source.h"

struct view_core {
    struct quarry *quarry; /* Borrowed. */
    struct view_source source;
    struct quarry_table *state; /* Owned. */
    struct view_program program;
    const quarry_flag *cancel; /* Borrowed; NULL: never. */
    uint64_t rows_applied;     /* Since the open. */
};

/* Rows in a batch, and of a step of building. */
#define VIEW_BATCH_ROWS ((size_t)512)

/* The name of the own table of @view, to be freed with mem_free(). */
char *view_state_name(const char *view);
/* Make it. ERR_EXISTS. */
MUST_CHECK int
view_state_create(struct quarry *q, const char *view, struct err *err);

/* Open the view @name with the program @source over @table. On failure nothing
 * is owned. Errors: as view_program_open(), view_source_open(). */
MUST_CHECK int view_core_open(struct quarry *q,
                              const char *name,
                              const char *table,
                              struct slice source,
                              struct view_core *out,
                              struct err *err);
void view_core_close(struct view_core *v);

/* The clock that expiries are by. */
int64_t view_core_now_us(const struct view_core *v);

/* Make the view's record of each of @rows what the row is now. Rows may be
 * named twice. Errors: as quarry_txn_commit(), but for conflicts, after which
 * it begins again. Batches before one that failed
 * are applied. */
MUST_CHECK int view_apply(struct view_core *v,
                          const struct slice *rows,
                          size_t count,
                          struct err *err);

/* Apply the rows that are due at @now_us; *@next_us is when the next one is, 0
 * if there is none. */
MUST_CHECK int view_expire(struct view_core *v,
                           int64_t now_us,
                           int64_t *next_us,
                           struct err *err);

/* --- building ------------------------------------------------------------ */

/* Begin to build the view from the first row on, keeping what it has, which is
 * replaced row by row. */
MUST_CHECK int view_build_begin(struct view_core *v, struct err *err);
/* Continue for one batch; *@ready when nothing is left. */
MUST_CHECK int
view_build_step(struct view_core *v, bool *ready, struct err *err);

/* --- reading ------------------------------------------------------------- */

/* Owned: view_meta_close(), also after a failure. */
MUST_CHECK int
view_meta_read(struct view_core *v, struct view_meta *out, struct err *err);
/* Merge the states of all groups into @run, of view_program_run(), as of one
 * moment. ERR_EXHAUSTED: they are more than its memory. */
MUST_CHECK int
view_load(struct view_core *v, struct saw_run *run, struct err *err);

#endif /* BIGTABLE_VIEW_VIEW_CORE_H */

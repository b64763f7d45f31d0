/* The program of a view: compiled, checked to be one that a row alone decides,
 * and run over one row at a time for what the row contributes.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_VIEW_PROGRAM_H
#define BIGTABLE_VIEW_VIEW_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/cells.h"
#include "bigtable/view/contribution.h"
#include "sawzall-lite/sawzall.h"

/* Of one row: more than that, and the row counts as failed. */
#define VIEW_FUEL_PER_ROW   ((uint64_t)1000000000)
#define VIEW_MEMORY_BYTES   ((uint64_t)512 << 20)
#define VIEW_ROW_GROUPS_MAX ((size_t)20000)
#define VIEW_ROW_STATES_MAX ((size_t)16 << 20)

struct view_program {
    struct saw_program *program; /* Owned. */
    struct saw_run *row_run;     /* Of one row. */
    struct saw_run *merger;      /* Of one key: states are merged in it. */
    struct contribution_writer writer;
    struct err row_error; /* Why the last row that failed did. */
};

/* Compile @source. On failure nothing is owned. Errors: ERR_INVALID: it does
 * not compile, does not read rows, or does what a view's program cannot: the
 * text says what. */
MUST_CHECK int
view_program_open(struct view_program *p, struct slice source, struct err *err);
void view_program_close(struct view_program *p);

/* A run with empty tables, which the program must outlive. Owned. */
MUST_CHECK int view_program_run(const struct view_program *p,
                                uint64_t memory_bytes_max,
                                struct saw_run **out,
                                struct err *err);

/* Append the record of what @row contributes to @record. That the program
 * fails on the row is part of it: what was emitted before stays. Errors: of
 * the machine alone. */
MUST_CHECK int view_program_row(struct view_program *p,
                                const struct quarry_row *row,
                                int64_t due_us,
                                struct buf *record,
                                struct err *err);

/* The number of the first table that it declares. */
unsigned view_program_first_table(const struct view_program *p);

/* --- merging states of one key ------------------------------------------- */

/* Forget what was merged. */
void view_merge_begin(struct view_program *p);
MUST_CHECK int view_merge_add(struct view_program *p,
                              uint32_t table,
                              struct slice key,
                              struct slice state,
                              struct err *err);
/* Take @state back. PRE: view_program_is_sum() of it. */
MUST_CHECK int view_merge_retract(struct view_program *p,
                                  uint32_t table,
                                  struct slice key,
                                  struct slice state,
                                  struct err *err);
/* @state is replaced by that of all that was merged. */
MUST_CHECK int
view_merge_end(struct view_program *p, struct buf *state, struct err *err);

/* Can what has such states be taken back by merging? */
bool view_program_is_sum(struct view_program *p,
                         uint32_t table,
                         struct slice state);

#endif /* BIGTABLE_VIEW_VIEW_PROGRAM_H */

/* Predicates that ask for the newest cells of named columns, as the conditions
 * of transactions do: they are answered by read_cell(), without a scan of the
 * row.
 *
 *     column_range(family, [q, q])
 *     chain(column_range(family, [q, q]), cells_per_column_limit(1),
 *           value_range(…))                                   or less of it
 *     interleave of such
 *
 * Without the limit, only of families that keep one version: a predicate is
 * about all cells that a read shows, and so about the newest one there.
 *
 * Threads: any. Borrowed from the filter.
 */
#ifndef BIGTABLE_WRITE_CELL_CHECK_H
#define BIGTABLE_WRITE_CELL_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_filter;
struct table_part;
struct table_part_view;

#define CELL_CHECK_MAX 4

struct cell_check {
    struct {
        const struct quarry_filter *column;
        const struct quarry_filter *values; /* NULL: any. */
    } cells[CELL_CHECK_MAX];

    size_t count;
};

/* Is @f (NULL: no) of that form, on the families of @view? */
bool cell_check_make(const struct quarry_filter *f,
                     const struct table_part_view *view,
                     struct cell_check *out);
/* Does @row have one of the cells? Each is read as it is then. Parks. */
MUST_CHECK int cell_check_run(const struct cell_check *c,
                              struct table_part *t,
                              struct slice row,
                              bool *matched,
                              struct err *err);

#endif /* BIGTABLE_WRITE_CELL_CHECK_H */

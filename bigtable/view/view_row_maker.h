/* Rows of a view in the form of a table's, for programs that read tables: each
 * column is a cell of the family "default" with its value as text; the key is
 * the texts of the keys, with tabs between, or the row's number where there are
 * none.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_VIEW_ROW_MAKER_H
#define BIGTABLE_VIEW_VIEW_ROW_MAKER_H

#include <stddef.h>

#include "bigtable/quarry_view.h"

#define VIEW_ROW_FAMILY "default"

struct view_row_maker;

/* @columns is borrowed. Owned. */
struct view_row_maker *
view_row_maker_new(const struct quarry_view_column *columns, size_t count);
void view_row_maker_free(struct view_row_maker *m); /* NULL is allowed. */

/* The row of @values; borrowed until the next call. */
const struct quarry_row *view_row_make(struct view_row_maker *m,
                                       const struct quarry_view_value *values);

#endif /* BIGTABLE_VIEW_VIEW_ROW_MAKER_H */

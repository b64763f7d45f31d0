/* All rows of a view that has items, as texts, for those who want to know their
 * number before they have them.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_VIEW_ROW_LIST_H
#define BIGTABLE_VIEW_VIEW_ROW_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/quarry_view.h"

struct view_row_list;

/* *@out is owned, and NULL of a view that has no items. @bytes_max: 0:
 * VIEW_MEMORY_BYTES. Errors: as quarry_view_scan_open(); ERR_EXHAUSTED. */
MUST_CHECK int view_row_list_read(struct quarry *q,
                                  const char *name,
                                  uint64_t bytes_max,
                                  struct view_row_list **out,
                                  struct err *err);
void view_row_list_free(struct view_row_list *l); /* NULL is allowed. */

/* Borrowed. */
size_t view_row_list_columns(const struct view_row_list *l,
                             const char *const **names);
size_t view_row_list_count(const struct view_row_list *l);
const struct quarry_view_cell *view_row_list_at(const struct view_row_list *l,
                                                size_t index);

#endif /* BIGTABLE_VIEW_VIEW_ROW_LIST_H */

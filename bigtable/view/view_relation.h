/* The results of a view by SQL as rows of its SELECT, made of the tables of the
 * program.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_VIEW_RELATION_H
#define BIGTABLE_VIEW_VIEW_RELATION_H

#include <stddef.h>

#include "base/core/slice.h"
#include "bigtable/quarry_view.h"
#include "bigtable/view/view_sql.h"

struct view_relation;

/* Of the tables of @run, whose program is that of @sql (borrowed). Owned. */
struct view_relation *view_relation_new(const struct view_sql *sql,
                                        struct saw_run *run);
void view_relation_free(struct view_relation *r); /* NULL is allowed. */

size_t view_relation_count(const struct view_relation *r);
/* The cells of row @index, one for each item; borrowed until the next call. */
const struct quarry_view_cell *view_relation_row(struct view_relation *r,
                                                 size_t index);

#endif /* BIGTABLE_VIEW_VIEW_RELATION_H */

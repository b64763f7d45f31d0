/* The rows of a view by a program: the lines of the results of one of its
 * tables, of any kind, made of one group after the other.
 *
 * Threads: one at a time.
 */
#ifndef BIGTABLE_VIEW_VIEW_LINES_H
#define BIGTABLE_VIEW_VIEW_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_view.h"

struct view_lines;
struct view_txn;

/* Compile @program and find @table (NULL: its only one). *@out is owned.
 * ERR_INVALID: names the tables that there are. */
MUST_CHECK int view_lines_open(struct slice program,
                               const char *table,
                               struct view_lines **out,
                               struct err *err);
void view_lines_close(struct view_lines *l); /* NULL is allowed. */

/* The number of the table in the program. */
unsigned view_lines_table(const struct view_lines *l);
/* Of columns, which describe() writes; names are borrowed. */
size_t view_lines_columns(const struct view_lines *l);
void view_lines_describe(const struct view_lines *l,
                         struct quarry_view_column *out);

/* Take the lines of the group @key, a row of the view's own table. */
MUST_CHECK int view_lines_load(struct view_lines *l,
                               struct view_txn *t,
                               struct slice key,
                               struct slice value,
                               struct err *err);
/* The next of them into @values, borrowed until the next load; false: there are
 * no more. */
bool view_lines_next(struct view_lines *l, struct quarry_view_value *values);

#endif /* BIGTABLE_VIEW_VIEW_LINES_H */

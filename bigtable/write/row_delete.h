/* Deleting a range of rows, one by one: where whole tablets cannot be dropped.
 *
 * Threads: any. Parks.
 */
#ifndef BIGTABLE_WRITE_ROW_DELETE_H
#define BIGTABLE_WRITE_ROW_DELETE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct tablet_env;
struct table_part;

/* Delete the rows [start, end) that there are (an empty @end: no bound); those
 * written meanwhile may stay. */
MUST_CHECK int delete_rows(struct tablet_env *env,
                           struct table_part *t,
                           struct slice start,
                           struct slice end,
                           struct err *err);

#endif /* BIGTABLE_WRITE_ROW_DELETE_H */

/* The commits that were made to one row from a time on, out of the
 * memtables and the files that keep changes.
 *
 * The look at a row is a seek in each memtable, and in each file that has
 * changes of the time and may have the row, by its filter.
 *
 * Threads: the owner's.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_HISTORY_H
#define BIGTABLE_CHANGES_CHANGE_HISTORY_H

#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct change_sources;
struct schema;

/* Append to @batch (change_batch.h) the commits to @row in @s that were made at
 * or after @since_us, in their order. Families are named by @schema; those that
 * are no more are left out. Parks. Errors: those of files. */
MUST_CHECK int change_history_read(struct change_sources *s,
                                   const struct schema *schema,
                                   struct slice row,
                                   int64_t since_us,
                                   struct buf *batch,
                                   struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_HISTORY_H */

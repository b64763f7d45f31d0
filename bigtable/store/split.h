/* Splits: one tablet becomes two over the same SSTables.
 *
 * The memtables are flushed first, beside writers; then, with the table closed
 * to them, what was written meanwhile. One edit replaces the old tablet by the
 * new ones. Readers of the old one finish on it.
 *
 * In a tablet server, whose tables have one tablet each, the halves are tables
 * of their own, and the one that was split is dropped.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_STORE_SPLIT_H
#define BIGTABLE_STORE_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct store;
struct table_part;
struct tablet;

/* Cut the tablet of @t that holds @row there; no-op where there is a cut
 * already. Parks. */
MUST_CHECK int split_at(struct store *s,
                        struct table_part *t,
                        struct slice row,
                        struct err *err);

/* Cut @t in two halves of about the same size. *@did is false when it has no
 * row to cut at, or was split by another meanwhile. Parks. */
MUST_CHECK int
split_in_middle(struct store *s, struct tablet *t, bool *did, struct err *err);

/* Delete all rows in [start, end): cut tablets at both ends, and replace those
 * between by one empty tablet. Parks. */
MUST_CHECK int drop_rows(struct store *s,
                         struct table_part *t,
                         struct slice start,
                         struct slice end,
                         struct err *err);

/* Delete all rows of the only tablet of @t, which stays what it is for others.
 * Parks. PRE: the store is shared. */
MUST_CHECK int
drop_tablet_rows(struct store *s, struct table_part *t, struct err *err);

#endif /* BIGTABLE_STORE_SPLIT_H */

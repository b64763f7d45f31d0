/* Changes as bytes: how readers hand them over, and how they go by the wire.
 *
 *     batch  = change…
 *     change = sequence:varint time:zigzag row:lslice count:varint op…
 *     op     = kind:u8 rest
 *
 * and the rest, by kind:
 *
 *     0  site:le64 time:zigzag sequence:varint    the origin: first, if any
 *     1  family:lslice qualifier:lslice time:zigzag value:lslice    a cell
 *     2  family:lslice qualifier:lslice from:zigzag to:zigzag       cells of
 *        a column deleted, [from, to); both 0: of any time
 *     3  family:lslice                            a family of the row deleted
 *     4                                           the row deleted
 *     5  as 1                                     an input of an aggregate
 *     6  as 1                                     a state of one
 *
 * Threads: the owner's.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_BATCH_H
#define BIGTABLE_CHANGES_CHANGE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/slice.h"
#include "bigtable/row/change.h"

/* Append @c. */
void change_batch_put(struct buf *out, const struct quarry_change *c);
/* Read the next change; false at the end, or when c->bad is set. Slices are
 * borrowed from the bytes, entries from @ops, whose content is replaced. */
bool change_batch_next(struct cursor *c,
                       struct buf *ops,
                       struct quarry_change *out);

#endif /* BIGTABLE_CHANGES_CHANGE_BATCH_H */

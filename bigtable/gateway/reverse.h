/* Rows in descending order, over a store that scans in ascending order.
 *
 * The rows are cut into windows at the store's own split points; windows are
 * read from the last to the first, each into memory. A window that turns out
 * too large is cut in two at the row where it became so, and read again in
 * parts, so that memory is bounded unless one row is larger.
 *
 * Threads: one at a time. Parks.
 */
#ifndef BIGTABLE_GATEWAY_REVERSE_H
#define BIGTABLE_GATEWAY_REVERSE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/quarry.h"

struct reverse_scan;

/* Scan the rows that @opts selects, with its limit, from the last to the first.
 * @opts and all it points to are borrowed until close; its keys and ranges may
 * overlap and come in any order. */
MUST_CHECK int reverse_scan_open(struct quarry_table *t,
                                 const struct quarry_read_options *opts,
                                 struct reverse_scan **out,
                                 struct err *err);
/* *@row is borrowed until the next call, and NULL at the end. With
 * progress_rows, a row without cells says that the scan has reached its key;
 * rows to come are before it. */
MUST_CHECK int reverse_scan_next(struct reverse_scan *s,
                                 const struct quarry_row **row,
                                 struct err *err);
void reverse_scan_close(struct reverse_scan *s); /* NULL is allowed. */

#endif /* BIGTABLE_GATEWAY_REVERSE_H */

/* Rows in descending order, over targets that scan in ascending order.
 *
 * The rows are cut into windows at the table's own split points; windows are
 * read from the last to the first, each into memory, and handed out from the
 * end. Windows are small at first, so that the last few rows of a large table
 * cost little, and grow to 8 MiB. One that turns out too large is cut in three:
 * where it became so, and in the middle of the keys behind that, which halves
 * what is looked through until the last rows are found. So memory is bounded
 * unless one row is larger.
 *
 * INV-1: windows are disjoint and ascending, and all of them are before the
 * rows that were handed out. INV-2: rows in hand are of one window, ascending,
 * and behind all windows.
 */
#ifndef BIGTABLE_CLIENT_REVERSE_SCAN_H
#define BIGTABLE_CLIENT_REVERSE_SCAN_H

#include "bigtable/quarry.h"

/* quarry_scan() with `reversed`. @opts is copied. Parks, and reads the last
 * window. Errors: those of quarry_scan() and quarry_table_split_points(). */
MUST_CHECK int reverse_scan(struct quarry_table *t,
                            const struct quarry_read_options *opts,
                            struct quarry_scanner **out,
                            struct err *err);

/* A key between @low and @high (empty: no bound) into @out: about in the
 * middle, as if the eight bytes behind what they have in common were a number.
 * False: there is none at that precision. */
bool reverse_scan_middle(struct slice low, struct slice high, struct buf *out);

#endif /* BIGTABLE_CLIENT_REVERSE_SCAN_H */

/* Locks of transactions, before reads that are not a transaction's.
 *
 * A transaction is committed when its primary is; until its other rows follow,
 * their cells are in their locks alone. So a plain read of a table that takes
 * part first looks for locks on its rows, and finishes those whose transaction
 * is committed. A lock of one that is not has no bearing on it. So a client
 * that has seen a row of a transaction, or was told that it is committed, sees
 * all of it in reads that begin afterwards.
 *
 * The look comes before the read: a commit that is decided before the look has
 * its rows written or finds them locked, for they were locked before it.
 *
 * Reads by a principal that may not read or write the hidden families, and of a
 * directory that is open for reading only, do without: they see the rest
 * when a transaction, another's read or the sweeper has finished it.
 *
 * Threads: any. Everything parks.
 */
#ifndef BIGTABLE_TXN_TXN_SETTLE_H
#define BIGTABLE_TXN_TXN_SETTLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/row/row_request.h"

struct quarry_row;
struct quarry_table;

/* Before a read of one row. Errors: those of reads. */
MUST_CHECK int
txn_settle_row(struct quarry_table *t, struct slice row, struct err *err);
/* Before a read of the rows that @opts (NULL: all) name; where they have a
 * limit, of those that are before the last one in it. Costs a scan of the
 * locks of these rows. */
MUST_CHECK int txn_settle_rows(struct quarry_table *t,
                               const struct quarry_read_options *opts,
                               struct err *err);
/* Before a read of @keys. */
MUST_CHECK int txn_settle_keys(struct quarry_table *t,
                               const struct slice *keys,
                               size_t count,
                               struct err *err);

/* --- how others of the room read ----------------------------------------- */

/* As quarry_read_row(), without the look. */
MUST_CHECK int txn_read_stored(struct quarry_table *t,
                               struct slice row,
                               const struct quarry_read_options *opts,
                               struct quarry_row **out,
                               struct err *err);

#endif /* BIGTABLE_TXN_TXN_SETTLE_H */

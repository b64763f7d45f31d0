/* Snapshots of a cluster's tables: records (wire/snapshot_record.h) in the file
 * system, BIGTABLE_FS_ROOT/snapshots/NAME.snap, each written whole or not at
 * all.
 *
 * Taking one asks the servers of all tablets for what they consist of, until
 * every tablet that there is has answered. A table is made of one in three
 * steps: a record of the table that counts as being dropped, so that the next
 * master clears away what is left should this one die; the rows of its tablets,
 * with the snapshot's files; the record again.
 *
 * While any of this goes on nothing is swept: files that are in none of
 * METADATA's rows any more may be about to be named by a snapshot.
 *
 * @principal is who asks: rights are those of the table it is of.
 *
 * Threads: the term's loop. Everything parks.
 */
#ifndef BIGTABLE_MASTER_SNAPSHOTS_H
#define BIGTABLE_MASTER_SNAPSHOTS_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/wire/snapshot_calls.h"

struct master_term;

/* ERR_NOTFOUND, ERR_EXISTS, ERR_INVALID. */
MUST_CHECK int snapshots_take(struct master_term *r,
                              const struct snapshot_order *o,
                              struct err *err);
MUST_CHECK int snapshots_drop(struct master_term *r,
                              struct slice principal,
                              const struct snapshot_order *o,
                              struct err *err);
MUST_CHECK int snapshots_restore(struct master_term *r,
                                 struct slice principal,
                                 const struct snapshot_order *o,
                                 struct err *err);
MUST_CHECK int snapshots_clone(struct master_term *r,
                               struct slice principal,
                               const struct snapshot_order *o,
                               struct err *err);
/* Summaries, appended. */
MUST_CHECK int
snapshots_list(struct master_term *r, struct buf *out, struct err *err);
/* The record without its tablets' groups, appended. */
MUST_CHECK int snapshots_show(struct master_term *r,
                              const struct snapshot_order *o,
                              struct buf *out,
                              struct err *err);
/* Mark the files of all, for the sweep, and drop those whose time is over. An
 * error: nothing may be swept. */
MUST_CHECK int snapshots_mark(struct master_term *r, struct err *err);

#endif /* BIGTABLE_MASTER_SNAPSHOTS_H */

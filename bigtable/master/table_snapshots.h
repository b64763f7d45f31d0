/* Snapshots of a cluster's tables: records (wire/snapshot_record.h) in the file
 * system, BIGTABLE_FS_ROOT/snapshots/NAME.snap, each written whole or not at
 * all.
 *
 * Taking one asks the servers of all tablets for their state, until every
 * tablet has answered. A table is made of one in three steps: a record of the
 * table that counts as being dropped, so that the next master removes what is
 * left if this one dies; the rows of its tablets, with the snapshot's files;
 * the record again.
 *
 * While a snapshot changes nothing is swept: files that no row of METADATA
 * names any more may be about to be named by a snapshot.
 *
 * @principal is the caller: its rights are those to the table of the snapshot.
 *
 * Threads: the term's loop. Everything parks. */
#ifndef BIGTABLE_MASTER_TABLE_SNAPSHOTS_H
#define BIGTABLE_MASTER_TABLE_SNAPSHOTS_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/wire/snapshot_calls.h"

struct master_term;

/* Take the snapshot o->name of the table o->table. ERR_NOTFOUND, ERR_EXISTS,
 * ERR_INVALID. */
MUST_CHECK int snapshots_take(struct master_term *r,
                              const struct snapshot_order *o,
                              struct err *err);
/* Drop the snapshot o->name. ERR_NOTFOUND, ERR_DENIED. */
MUST_CHECK int snapshots_drop(struct master_term *r,
                              struct slice principal,
                              const struct snapshot_order *o,
                              struct err *err);
/* Make the table o->table of the snapshot o->name. ERR_NOTFOUND, ERR_EXISTS,
 * ERR_INVALID, ERR_DENIED. */
MUST_CHECK int snapshots_restore(struct master_term *r,
                                 struct slice principal,
                                 const struct snapshot_order *o,
                                 struct err *err);
/* Make the table o->table of the table o->name as it is now. Errors as above.
 */
MUST_CHECK int snapshots_clone(struct master_term *r,
                               struct slice principal,
                               const struct snapshot_order *o,
                               struct err *err);
/* Append the summaries of all snapshots. */
MUST_CHECK int
snapshots_list(struct master_term *r, struct buf *out, struct err *err);
/* Append the record of o->name, without the groups of its tablets. */
MUST_CHECK int snapshots_show(struct master_term *r,
                              const struct snapshot_order *o,
                              struct buf *out,
                              struct err *err);
/* Append the whole record of o->name. ERR_TOOBIG: no call has room for it. */
MUST_CHECK int snapshots_record(struct master_term *r,
                                const struct snapshot_order *o,
                                struct buf *out,
                                struct err *err);
/* Mark the files of all snapshots for the sweep, and drop those that have
 * expired. After an error nothing may be swept. */
MUST_CHECK int snapshots_mark(struct master_term *r, struct err *err);

#endif /* BIGTABLE_MASTER_TABLE_SNAPSHOTS_H */

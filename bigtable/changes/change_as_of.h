/* A tablet as it was at a time: for reads of the past of a table that keeps its
 * changes.
 *
 * Its state at time T is made of all entries up to the last commit at T that
 * could be seen then, or that come behind the floor: they are in the tablet's
 * memtables and tables, and what compactions took out of these since T is in
 * files of the past (tablet/tablet_changes.h). Whatever else is there of such
 * entries does no harm, as the rules of visibility hide it then as they did.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_CHANGES_CHANGE_AS_OF_H
#define BIGTABLE_CHANGES_CHANGE_AS_OF_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct tablet;
struct tablet_snapshot;

/* Fill @out with the state of @t at @us: for iterators over its groups, up to
 * out->sequence. tablet_snapshot_drop() releases it. Waits until no commit of
 * that time can follow. Parks.
 * Errors, @out is untouched: ERR_EXHAUSTED: that time is not kept any more, and
 * which the earliest is; ERR_INVALID: it has not come yet; ERR_UNAVAILABLE:
 * commits of that time take too long; those of files. */
MUST_CHECK int change_as_of(struct tablet *t,
                            int64_t us,
                            struct tablet_snapshot *out,
                            struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_AS_OF_H */

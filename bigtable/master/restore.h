/* Tables made of the state of others: see table_snapshots.h.
 *
 * Threads: the term's loop. */
#ifndef BIGTABLE_MASTER_RESTORE_H
#define BIGTABLE_MASTER_RESTORE_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct master_term;
struct snapshot_record;

/* Make table @name, of the principal @creator, of the tablets of @s, whose
 * files stay meanwhile, and wait for a moment until they are served. Parks.
 * Errors: ERR_EXISTS, ERR_INVALID, ERR_CORRUPT; after another error nothing of
 * the table is left, or the next master removes it. */
MUST_CHECK int restore_table(struct master_term *r,
                             struct slice name,
                             struct slice creator,
                             const struct snapshot_record *s,
                             struct err *err);

#endif /* BIGTABLE_MASTER_RESTORE_H */

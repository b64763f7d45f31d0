/* The state of a whole table of the cluster, as the servers of its tablets
 * report it: for snapshots and clones.
 *
 * Threads: the term's loop. */
#ifndef BIGTABLE_MASTER_TABLE_CAPTURE_H
#define BIGTABLE_MASTER_TABLE_CAPTURE_H

#include <stddef.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct capture_answer;
struct master_term;
struct snapshot_tablet;

struct table_state {
    struct buf schema;
    struct snapshot_tablet *tablets; /* Owned; borrow from the answers. */
    size_t tablet_count;
    struct capture_answer *answers;
};

/* Ask until every tablet has answered; those that are moved, split or merged
 * meanwhile are asked again. Parks. table_state_close() in any case. POST: the
 * tablets cover all rows without a gap. Errors: ERR_NOTFOUND: no such table;
 * ERR_UNAVAILABLE: the term ends; those of a server that refuses. */
MUST_CHECK int capture_table(struct master_term *r,
                             struct slice name,
                             struct table_state *out,
                             struct err *err);
/* Frees the tablets and the answers they borrow from. */
void table_state_close(struct table_state *t);

#endif /* BIGTABLE_MASTER_TABLE_CAPTURE_H */

/* What a table of the cluster consists of: asked of the servers of its tablets.
 *
 * Threads: the term's loop.
 */
#ifndef BIGTABLE_MASTER_CAPTURE_H
#define BIGTABLE_MASTER_CAPTURE_H

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

/* Ask until every tablet there is has answered: those that are moved, split or
 * merged meanwhile are asked again. Parks. table_state_close() in any case.
 * Errors: ERR_NOTFOUND: no such table; ERR_CANCELLED: the term ends. */
MUST_CHECK int capture_table(struct master_term *r,
                             struct slice name,
                             struct table_state *out,
                             struct err *err);
void table_state_close(struct table_state *t);

#endif /* BIGTABLE_MASTER_CAPTURE_H */

/* Mutations on their way to a tablet server: their families are checked, and
 * they are encoded with the numbers of their tablet and change.
 */
#ifndef BIGTABLE_CLIENT_CLUSTER_RESOLVE_H
#define BIGTABLE_CLIENT_CLUSTER_RESOLVE_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct buf;
struct cluster_table;
struct quarry_mutation;

/* Are the families of @m those of @t? The table is read again before one is
 * said to be missing. Parks then. Errors: ERR_NOTFOUND (lists those there
 * are), those of cluster_table_refresh(). */
MUST_CHECK int mutation_families_check(struct cluster_table *t,
                                       const struct quarry_mutation *m,
                                       struct err *err);

/* Append @m for @tablet (row_change_put()). */
void row_change_mutation_put(uint64_t tablet,
                             uint64_t sequence,
                             const struct quarry_mutation *m,
                             struct buf *out);

#endif /* BIGTABLE_CLIENT_CLUSTER_RESOLVE_H */

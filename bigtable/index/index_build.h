/* Filling an index from the rows of its table, and comparing both.
 *
 * Threads: any. Both park, and run while rows are written.
 */
#ifndef BIGTABLE_INDEX_INDEX_BUILD_H
#define BIGTABLE_INDEX_INDEX_BUILD_H

#include "bigtable/index/index.h"

/* Enter all rows of @t into @d of @set. PRE: writers keep it already.
 * ERR_EXISTS: two rows of a unique index have the same values. */
MUST_CHECK int index_build(struct quarry_table *t,
                           const struct index_set *set,
                           const struct index_def *d,
                           quarry_index_progress progress,
                           void *ctx,
                           struct err *err);
/* As quarry_index_check(). */
MUST_CHECK int index_compare(struct quarry_table *t,
                             const struct index_set *set,
                             const struct index_def *d,
                             bool mend,
                             struct quarry_index_report *out,
                             quarry_index_progress progress,
                             void *ctx,
                             struct err *err);

#endif /* BIGTABLE_INDEX_INDEX_BUILD_H */

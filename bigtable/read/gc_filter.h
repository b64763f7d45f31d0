/* The lsm_filter of a table's groups: which entries a compaction drops.
 *
 * It applies the same rules as reading does (row/visibility.h). Deletions go
 * once nothing older is left below. Cells above the limit of versions also go
 * only then: in the middle, dropping the newer of two entries of one timestamp
 * could bring the older one back when a version above it is deleted. Age needs
 * no such precaution.
 */
#ifndef BIGTABLE_READ_GC_FILTER_H
#define BIGTABLE_READ_GC_FILTER_H

#include <stdint.h>

struct lsm_filter;
struct table_part;

/* For one compaction of a group of @t, judging age at @now_us. NULL when the
 * table was dropped. Owned. */
struct lsm_filter *gc_filter_new(struct table_part *t, int64_t now_us);
void gc_filter_free(struct lsm_filter *f);

#endif /* BIGTABLE_READ_GC_FILTER_H */

/* The lsm_filter of a table's groups: which entries a compaction drops.
 *
 * It applies the same rules as reading does (row/visibility.h). Entries that a
 * read would not show are dropped by any compaction: those that are deleted or
 * overwritten, those that the GC rule collects, those of dropped families. A
 * deletion is dropped once a newer, wider one covers it, or once nothing older
 * is left below. Malformed entries stay.
 *
 * Of a table that keeps its changes, what is dropped goes into a file of the
 * past if it was written behind the floor, or could be seen at the floor; and
 * deletions that hide an entry of such a file stay, or go there as well
 * (tablet/tablet_changes.h, INV-3).
 */
#ifndef BIGTABLE_READ_GC_FILTER_H
#define BIGTABLE_READ_GC_FILTER_H

#include <stdint.h>

struct changes_past;
struct lsm_filter;
struct table_part;

/* For one compaction of a group of @t, judging age at @now_us. @past is as it
 * is now; NULL: no changes are kept. @begun_us: no commit so far is later. NULL
 * when the table was dropped. Owned. */
struct lsm_filter *gc_filter_new(struct table_part *t,
                                 int64_t now_us,
                                 const struct changes_past *past,
                                 int64_t begun_us);
void gc_filter_free(struct lsm_filter *f);

#endif /* BIGTABLE_READ_GC_FILTER_H */

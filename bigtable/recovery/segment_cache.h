/* Sorted segments of dead servers' logs that a tablet server keeps in memory
 * while tablets are loaded from them, here and by others.
 *
 * The cache is bounded: what has no room on it is written to its file
 * (log_sort.h) instead. Nothing depends on what is in a cache: the segment is
 * in the file system for as long as any tablet needs it, and is sorted again by
 * the next caller.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_RECOVERY_SEGMENT_CACHE_H
#define BIGTABLE_RECOVERY_SEGMENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct segment_cache;
struct sorted_segment;
struct world;

/* For @bytes_max in all. @w is borrowed. Owned. */
struct segment_cache *segment_cache_new(struct world *w, uint64_t bytes_max);
/* PRE: nobody is at it. NULL is allowed. */
void segment_cache_free(struct segment_cache *s);

/* The segment @name of the log @dir, taken from its writer and sorted unless it
 * is here: *@out, referenced; NULL: it is in its file, which @who wrote or
 * found. Several who ask at once wait for one. Parks. Errors:
 * sorted_segment_read(), log_sorted_write(). */
MUST_CHECK int segment_cache_get(struct segment_cache *s,
                                 struct fs *fs,
                                 const char *dir,
                                 const char *name,
                                 uint64_t who,
                                 struct sorted_segment **out,
                                 struct err *err);
/* Release the segments that were not used in the last @idle_us. */
void segment_cache_expire(struct segment_cache *s, uint64_t idle_us);
uint64_t segment_cache_bytes(struct segment_cache *s);

#endif /* BIGTABLE_RECOVERY_SEGMENT_CACHE_H */

/* Which files that flushes and compactions write stay in the page cache.
 *
 * New files are often read soon, and after a compaction all of its
 * rows lie in files that nobody has read. Direct writing costs a fifth of the
 * CPU of buffered writing where each page is fresh, but then every first read
 * of a block waits for the disk; so files stay in memory while there is plenty:
 *
 *   - if all files of the store take at most half of the memory that is
 *     available, they can all stay, and nothing that is hotter has to go;
 *   - else if the output is small beside that memory (a flush; the merge of a
 *     few): the newest rows are the likeliest to be read and to be merged
 *     soon. The system evicts pages that were never read before those that
 *     were, so blocks of larger files that are in use stay;
 *   - else it is written past the cache, as before: a large merge would flush
 *     the cache of everything and then of its own beginning.
 *
 * "Available" is the machine's or the control group's free memory and its page
 * cache, in which the store's own files lie, so that keeping files does not
 * change the answer. The option cache= of a group decides by itself. The
 * decoded blocks of the block cache are a tier above and have their own bound.
 *
 * A compaction takes its inputs from the page cache where they are in it, and
 * their pages are free again once the files are removed: the next output gets
 * them, and they cost it little.
 *
 * Threads: any. Pure.
 */
#ifndef BIGTABLE_LSM_CACHE_POLICY_H
#define BIGTABLE_LSM_CACHE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/runtime/world.h"  /* struct world_memory */
#include "bigtable/row/schema.h" /* struct group_options */

/* Parts of the available memory: all files, and one output, may take one part
 * of that many. */
#define CACHE_STORE_PARTS  2
#define CACHE_OUTPUT_PARTS 16

/* Shall an output of about @output_bytes, of a group with @options, in a store
 * whose files have @store_bytes without it, stay in the page cache? */
bool cache_policy_keeps(const struct group_options *options,
                        uint64_t store_bytes,
                        uint64_t output_bytes,
                        const struct world_memory *memory);

#endif /* BIGTABLE_LSM_CACHE_POLICY_H */

/* Entries that go into skip lists together, of one list or several. Searching
 * for the place of an entry is mostly waiting for memory, once a step; a batch
 * takes one step of each search in turn, so that they all wait at once.
 *
 * Threads: that of the lists' writer.
 */
#ifndef BIGTABLE_LSM_SKIP_BATCH_H
#define BIGTABLE_LSM_SKIP_BATCH_H

#include <stddef.h>

#include "base/core/slice.h"

struct skip_batch;
struct skip_list;
struct skip_node;

/* Entries searched for together. 64 took 15 % more time for each entry; twice
 * as many take no less. */
#define SKIP_BATCH_COUNT_MAX ((size_t)128)

/* Empty. Owned. */
struct skip_batch *skip_batch_new(void);
void skip_batch_free(struct skip_batch *b); /* PRE: it is empty. NULL: no-op. */

/* As skip_list_insert() into @l, by the next skip_batch_end() at the latest.
 * PRE: @l stays open until then, and nothing else is inserted into it. Returns
 * the node, whose key and value are there at once. */
const struct skip_node *skip_batch_insert(struct skip_batch *b,
                                          struct skip_list *l,
                                          struct slice key,
                                          size_t stem_bytes,
                                          struct slice value);

/* Insert all that is pending. */
void skip_batch_end(struct skip_batch *b);

#endif /* BIGTABLE_LSM_SKIP_BATCH_H */

/* The rows that one request writes, or several that came together: mutations
 * side by side, their operations behind one another. A bulk write has a hundred
 * rows, and with memory for each of them the CPU would wait for that of every
 * one again and again. Batches are used again.
 *
 * Threads: any for the pool; one at a time for a batch.
 */
#ifndef BIGTABLE_GATEWAY_ROW_BATCH_H
#define BIGTABLE_GATEWAY_ROW_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct quarry_mutation;
struct row_batch;
struct row_batch_pool;

struct row_batch_pool *row_batch_pool_new(void);
void row_batch_pool_free(struct row_batch_pool *p); /* NULL is allowed. */

/* An empty batch for up to @row_count rows. It goes back by row_batch_give().
 */
struct row_batch *row_batch_take(struct row_batch_pool *p, size_t row_count);
void row_batch_give(struct row_batch_pool *p, struct row_batch *b);

/* Begin the next row of @b: for @count operations, whose names and values have
 * not more than @bytes together. @row is borrowed until the batch goes back;
 * the mutation until then, too, if row_batch_end() says that it stays. */
struct quarry_mutation *row_batch_begin(struct row_batch *b,
                                        struct slice row,
                                        size_t count,
                                        size_t bytes);
/* All that is done to the row begun last was added, or lies elsewhere as long
 * as the batch has it; is it good? */
void row_batch_end(struct row_batch *b, bool good);

/* The good ones, in order; how many there are. */
struct quarry_mutation *const *row_batch_rows(const struct row_batch *b);
size_t row_batch_count(const struct row_batch *b);

#endif /* BIGTABLE_GATEWAY_ROW_BATCH_H */

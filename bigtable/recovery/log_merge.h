/* The mutations of one tablet in sorted segments of dead servers' logs, each
 * once: in order of rows, and of each row the newest first.
 *
 * A segment may lie in a file (log_sort.h), in this process's memory, or in
 * another's, which hands it out in batches:
 *     batch = { sequence:varint mutation }
 * with mutations as in row/logged_mutation.h.
 *
 * Threads: one at a time. Functions with an @err park.
 */
#ifndef BIGTABLE_RECOVERY_LOG_MERGE_H
#define BIGTABLE_RECOVERY_LOG_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct block_cache;
struct buf;
struct fs;
struct log_merge;
struct logged_mutation;
struct sorted_segment;

/* Of rows [@start, @end) of @table; an empty @end: no bound. Owned. */
struct log_merge *
log_merge_new(uint64_t table, struct slice start, struct slice end);
void log_merge_free(struct log_merge *m); /* NULL is allowed. */

/* The file at @path. Errors: those of SSTables. */
MUST_CHECK int log_merge_add_file(struct log_merge *m,
                                  struct fs *fs,
                                  struct block_cache *cache,
                                  const char *path,
                                  struct err *err);
/* @s, which is referenced. */
void log_merge_add_segment(struct log_merge *m, struct sorted_segment *s);

/* Replace *@out by the next batch, after the first @skip mutations; empty: at
 * the end. */
typedef int (*log_fetch_fn)(void *ctx,
                            uint64_t skip,
                            struct buf *out,
                            struct err *err);
/* Add a source whose batches @fetch brings; @ctx is borrowed until
 * log_merge_free(). Fetches the first batch: after an error nothing is added.
 * Errors: ERR_CORRUPT; those of @fetch. */
MUST_CHECK int log_merge_add_remote(struct log_merge *m,
                                    log_fetch_fn fetch,
                                    void *ctx,
                                    struct err *err);

/* @mutation is borrowed. */
typedef int (*log_merge_fn)(void *ctx,
                            const struct logged_mutation *mutation,
                            uint64_t sequence,
                            struct err *err);
/* Call @fn for each, once. Errors: those of the sources, and of @fn. */
MUST_CHECK int log_merge_each(struct log_merge *m,
                              log_merge_fn fn,
                              void *ctx,
                              struct err *err);

/* Bytes of a batch, about. */
#define LOG_BATCH_BYTES ((size_t)1 << 20)

/* Append a batch of what @s has of the rows [@start, @end) of @table behind
 * the first @skip. */
void log_batch_put(const struct sorted_segment *s,
                   uint64_t table,
                   struct slice start,
                   struct slice end,
                   uint64_t skip,
                   struct buf *out);

#endif /* BIGTABLE_RECOVERY_LOG_MERGE_H */

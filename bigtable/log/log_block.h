/* Where records are put together before they are written: behind what the last
 * page of the segment holds already, so that whole pages can be written.
 *
 * Threads: one at a time.
 *
 * Invariants
 *     INV-1. Bytes lie within the memory: len <= cap.
 *     INV-2. The memory begins at a page, and is of whole pages.
 */
#ifndef BIGTABLE_LOG_LOG_BLOCK_H
#define BIGTABLE_LOG_LOG_BLOCK_H

#include <stddef.h>

#include "base/core/slice.h"

/* The unit of writes: that of direct I/O. */
#define LOG_PAGE_BYTES ((size_t)4096)

struct log_block {
    char *data; /* Aligned to a page; what a segment has from a page's begin.
                   Owned. */
    size_t len;
    size_t cap;
};

void log_block_close(struct log_block *b);

/* Room for @bytes more, to be filled. */
char *log_block_extend(struct log_block *b, size_t bytes);
void log_block_append(struct log_block *b, struct slice s);
/* Zeros up to the end of the page, not counted in `len`; all of it from @from
 * on. */
struct slice log_block_padded(struct log_block *b, size_t from);

/* The block is written: keep the part that lies in the last page. */
void log_block_keep_tail(struct log_block *b);
/* @s was written behind it, and did not pass through the block. */
void log_block_pass(struct log_block *b, struct slice s);

#endif /* BIGTABLE_LOG_LOG_BLOCK_H */

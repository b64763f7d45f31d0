/* Records on their way to a segment: one buffer that is aligned to pages, so
 * that it may be written past the page cache. After a write only the part in
 * the last page stays. A large buffer lies in large pages of memory, because
 * the system looks up each page that the disk is to read.
 */
#define _GNU_SOURCE /* MADV_HUGEPAGE */

#include "bigtable/log/log_block.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/core/macros.h"
#include "base/core/panic.h"

/* One that grew beyond it, for a large group, is given back. */
#define KEEP_BYTES_MAX ((size_t)8 << 20)
#define FIRST_BYTES    ((size_t)64 << 10)
/* One that grew to this lies in large pages: the system looks up each page that
 * the disk is to read, and gives the disk as many pieces. */
#define LARGE_BYTES      ((size_t)512 << 10)
#define LARGE_PAGE_BYTES ((size_t)2 << 20)

void log_block_close(struct log_block *b)
{
    INVARIANT(b->len <= b->cap); /* INV-1 */
    free(b->data);
    *b = (struct log_block){.data = NULL};
}

/* Room for @bytes, in whole pages. */
static void log_block_resize(struct log_block *b, size_t bytes)
{
    bool large = bytes >= LARGE_BYTES;
    size_t page = large ? LARGE_PAGE_BYTES : LOG_PAGE_BYTES;
    size_t cap = (bytes + page - 1) / page * page;
    char *data = aligned_alloc(page, cap);
    PRE(bytes >= b->len);
    if (!data)
        PANIC("no memory to write the log");
    if (large)
        (void)madvise(data, cap, MADV_HUGEPAGE); /* It may refuse. */
    if (b->len)
        memcpy(data, b->data, b->len);
    free(b->data);
    b->data = data;
    b->cap = cap;
    POST(b->cap % LOG_PAGE_BYTES == 0); /* INV-2 */
}

char *log_block_extend(struct log_block *b, size_t bytes)
{
    char *p;
    if (b->cap - b->len < bytes)
        log_block_resize(
            b, MAX_OF(MAX_OF(b->cap * 2, FIRST_BYTES), b->len + bytes));
    p = b->data + b->len;
    b->len += bytes;
    POST(b->len <= b->cap); /* INV-1 */
    return p;
}

void log_block_append(struct log_block *b, struct slice s)
{
    PRE(s.data || s.len == 0);
    if (s.len)
        memcpy(log_block_extend(b, s.len), s.data, s.len);
}

struct slice log_block_padded(struct log_block *b, size_t from)
{
    size_t pad = -b->len % LOG_PAGE_BYTES;
    PRE(from <= b->len);
    if (pad)
        memset(log_block_extend(b, pad), 0, pad);
    b->len -= pad;
    POST(b->len + pad <= b->cap); /* INV-1 */
    return slice_make(b->data + from, b->len + pad - from);
}

void log_block_keep_tail(struct log_block *b)
{
    size_t tail = b->len % LOG_PAGE_BYTES;
    PRE(b->len <= b->cap); /* INV-1 */
    if (tail < b->len)
        memmove(b->data, b->data + b->len - tail, tail);
    b->len = tail;
    if (b->cap > KEEP_BYTES_MAX)
        log_block_resize(b, FIRST_BYTES);
    POST(b->len <= b->cap); /* INV-1 */
}

void log_block_pass(struct log_block *b, struct slice s)
{
    size_t tail;
    PRE(b->len < LOG_PAGE_BYTES);
    if (s.len < LOG_PAGE_BYTES) {
        log_block_append(b, s);
        log_block_keep_tail(b);
        return;
    }
    tail = (b->len + s.len) % LOG_PAGE_BYTES;
    b->len = 0;
    log_block_append(b, slice_make(s.data + s.len - tail, tail));
}

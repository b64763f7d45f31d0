/* A growable byte buffer. Capacity doubles, so that appending costs
 * amortised constant time, and never shrinks by itself: buffers are reused
 * for records of about the same size. */
#include "base/core/buf.h"

#include <stdio.h>

#include "base/core/panic.h"

#define BUF_BYTES_MIN 64

void buf_init(struct buf *b)
{
    *b = BUF_INIT;
}

void buf_close(struct buf *b)
{
    mem_free(b->data);
    *b = BUF_INIT;
}

char *buf_reserve(struct buf *b, size_t extra)
{
    size_t need = b->len + extra;
    size_t cap = b->cap ? b->cap : BUF_BYTES_MIN;
    PRE(need >= extra);
    if (need > b->cap) {
        while (cap < need)
            cap = cap > SIZE_MAX / 2 ? need : cap * 2;
        b->data = mem_realloc(b->data, cap);
        b->cap = cap;
    }
    INVARIANT(b->len <= b->cap); /* INV-1 */
    return b->data + b->len;
}

char *buf_extend(struct buf *b, size_t count)
{
    char *p = buf_reserve(b, count);
    b->len += count;
    return p;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
    if (len == 0)
        return;
    if (UNLIKELY(b->cap - b->len < len))
        buf_reserve(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

void buf_append_str(struct buf *b, const char *s)
{
    buf_append(b, s, strlen(s));
}

void buf_append_fill(struct buf *b, char byte, size_t count)
{
    if (count)
        memset(buf_extend(b, count), byte, count);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
    va_list again;
    int n;
    char *p = buf_reserve(b, BUF_BYTES_MIN);
    va_copy(again, ap);
    n = vsnprintf(p, b->cap - b->len, fmt, ap);
    PRE(n >= 0);
    if ((size_t)n >= b->cap - b->len) {
        p = buf_reserve(b, (size_t)n + 1);
        vsnprintf(p, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    b->len += (size_t)n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void buf_truncate(struct buf *b, size_t len)
{
    PRE(len <= b->len);
    b->len = len;
}

void buf_consume(struct buf *b, size_t count)
{
    PRE(count <= b->len);
    b->len -= count;
    if (count && b->len)
        memmove(b->data, b->data + count, b->len);
}

const char *buf_cstr(struct buf *b)
{
    *buf_reserve(b, 1) = '\0';
    return b->data;
}

char *buf_take(struct buf *b)
{
    char *p;
    buf_cstr(b);
    p = b->data;
    *b = BUF_INIT;
    return p;
}

/* A growable byte buffer, owned by the holder of the struct. One thread.
 *
 * Invariants, kept by every function here
 *     INV-1. len <= cap.
 *     INV-2. data is NULL if and only if cap is 0.
 */
#ifndef BASE_CORE_BUF_H
#define BASE_CORE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "base/core/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct buf {
    char *data; /* Owned; NULL while cap is 0. */
    size_t len; /* Bytes in use. */
    size_t cap; /* Bytes allocated. */
};

#ifdef __cplusplus
#define BUF_INIT                                                               \
    {                                                                          \
        nullptr, 0, 0                                                          \
    }
#else
#define BUF_INIT ((struct buf){NULL, 0, 0})
#endif

/* An empty buffer; it owns no memory until something is appended. */
QUARRY_EXPORT void buf_init(struct buf *b) QUARRY_SYMBOL(buf_init);
QUARRY_EXPORT void buf_close(struct buf *b)
    QUARRY_SYMBOL(buf_close); /* Frees; the struct may be used again. */

/* Room for @extra more bytes; returns where they would go. */
QUARRY_EXPORT char *buf_reserve(struct buf *b, size_t extra)
    QUARRY_SYMBOL(buf_reserve);

/* @count uninitialised bytes are now part of the buffer; returns the first. */
QUARRY_EXPORT char *buf_extend(struct buf *b, size_t count)
    QUARRY_SYMBOL(buf_extend);

/* Append bytes, a string, one byte repeated, or formatted text. The
 * source must not lie in @b itself: the buffer may move. */
QUARRY_EXPORT void buf_append(struct buf *b, const void *data, size_t len)
    QUARRY_SYMBOL(buf_append);
QUARRY_EXPORT void buf_append_str(struct buf *b, const char *s)
    QUARRY_SYMBOL(buf_append_str);
QUARRY_EXPORT void buf_append_fill(struct buf *b, char byte, size_t count)
    QUARRY_SYMBOL(buf_append_fill);
QUARRY_EXPORT void buf_printf(struct buf *b, const char *fmt, ...)
    QUARRY_SYMBOL(buf_printf) PRINTF_LIKE(2, 3);
QUARRY_EXPORT void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
    QUARRY_SYMBOL(buf_vprintf) PRINTF_LIKE(2, 0);

static inline void buf_append_byte(struct buf *b, char c)
{
    if (UNLIKELY(b->len == b->cap))
        buf_reserve(b, 1);
    b->data[b->len++] = c;
}

static inline void buf_append_slice(struct buf *b, struct slice s)
{
    buf_append(b, s.data, s.len);
}

/* Forget the contents, keep the memory. */
static inline void buf_clear(struct buf *b)
{
    b->len = 0;
}

/* Shorten to @len bytes. PRE: len <= b->len. */
QUARRY_EXPORT void buf_truncate(struct buf *b, size_t len)
    QUARRY_SYMBOL(buf_truncate);

/* Drop the first @count bytes, moving the rest down. */
QUARRY_EXPORT void buf_consume(struct buf *b, size_t count)
    QUARRY_SYMBOL(buf_consume);

/* Borrowed until the next change of @b. */
static inline struct slice buf_slice(const struct buf *b)
{
    return slice_make(b->data ? b->data : "", b->len);
}

/* The contents with a NUL after them, which len does not count; borrowed. */
QUARRY_EXPORT const char *buf_cstr(struct buf *b) QUARRY_SYMBOL(buf_cstr);

/* Hand the memory, NUL-terminated, to the caller and reset @b. Owned. */
QUARRY_EXPORT char *buf_take(struct buf *b) QUARRY_SYMBOL(buf_take);

#ifdef __cplusplus
}
#endif

#endif /* BASE_CORE_BUF_H */

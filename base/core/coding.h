/* Integers as bytes: fixed little and big endian, LEB128 varints, zigzag, and
 * a bounds-checked cursor to read them from untrusted bytes.
 *
 * Reading never goes past cursor.end: a short or malformed input sets `bad`
 * once, every later read gives zeros, and the caller tests `bad` at the end.
 */
#ifndef BASE_CORE_CODING_H
#define BASE_CORE_CODING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/slice.h"

#define VARINT32_BYTES_MAX 5
#define VARINT64_BYTES_MAX 10

static inline void put_le16(char *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v)); /* Little-endian hosts only: asserted in
                                 coding.c. */
}

static inline void put_le32(char *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void put_le64(char *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline uint16_t get_le16(const char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t get_le32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t get_le64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void put_be32(char *p, uint32_t v)
{
    put_le32(p, __builtin_bswap32(v));
}

static inline void put_be64(char *p, uint64_t v)
{
    put_le64(p, __builtin_bswap64(v));
}

static inline uint32_t get_be32(const char *p)
{
    return __builtin_bswap32(get_le32(p));
}

static inline uint64_t get_be64(const char *p)
{
    return __builtin_bswap64(get_le64(p));
}

static inline uint64_t zigzag_encode(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t zigzag_decode(uint64_t v)
{
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* Write @v at @p (VARINT64_BYTES_MAX bytes of room); returns the end. */
static inline char *put_varint(char *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (char)(unsigned char)(v | 0x80);
        v >>= 7;
    }
    *p++ = (char)(unsigned char)v;
    return p;
}

static inline size_t varint_bytes(uint64_t v)
{
    size_t n = 1;
    while (v >= 0x80) {
        v >>= 7;
        n++;
    }
    return n;
}

/* Read a varint from [p, end); NULL when it is cut or over 64 bits. */
const char *get_varint_slow(const char *p, const char *end, uint64_t *v);

static inline const char *
get_varint(const char *p, const char *end, uint64_t *v)
{
    if (LIKELY(p < end) && LIKELY(*(const signed char *)p >= 0)) {
        *v = (uint64_t)(unsigned char)*p;
        return p + 1;
    }
    return get_varint_slow(p, end, v);
}

/* Append one integer, or the bytes of a double, in the form of its name. */
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_le32(struct buf *b, uint32_t v);
void buf_put_le64(struct buf *b, uint64_t v);
void buf_put_be64(struct buf *b, uint64_t v);
void buf_put_varint(struct buf *b, uint64_t v);
void buf_put_zigzag(struct buf *b, int64_t v);
void buf_put_double(struct buf *b, double v);
/* Varint length, then the bytes. */
void buf_put_lslice(struct buf *b, struct slice s);
/* A string, or NULL. */
void buf_put_text(struct buf *b, const char *s);

struct cursor {
    const char *p;   /* Next byte. */
    const char *end; /* One past the last. */
    bool bad;        /* Sticky: something did not fit. */
};

static inline struct cursor cursor_make(struct slice s)
{
    return (struct cursor){s.data, s.data + s.len, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
    return (size_t)(c->end - c->p);
}

/* The next value of each form; 0 when the cursor is or becomes bad. */
uint8_t cursor_u8(struct cursor *c);
uint32_t cursor_le32(struct cursor *c);
uint64_t cursor_le64(struct cursor *c);
uint64_t cursor_be64(struct cursor *c);
uint64_t cursor_varint(struct cursor *c);
int64_t cursor_zigzag(struct cursor *c);
double cursor_double(struct cursor *c);

/* cursor_varint() for values that nearly always take one or two bytes. */
static inline uint64_t cursor_short_varint(struct cursor *c)
{
    const unsigned char *p = (const unsigned char *)c->p;
    size_t left = cursor_left(c);
    if (LIKELY(left >= 1 && p[0] < 0x80)) {
        c->p += 1;
        return p[0];
    }
    if (LIKELY(left >= 2 && p[1] < 0x80)) {
        c->p += 2;
        return (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
    }
    return cursor_varint(c);
}

/* @len bytes; borrowed from the cursor's memory. Empty when bad. */
struct slice cursor_bytes(struct cursor *c, size_t len);
/* Reads what buf_put_lslice() wrote. */
struct slice cursor_lslice(struct cursor *c);
/* Reads what buf_put_text() wrote, up to a NUL. Owned; NULL also when bad. */
char *cursor_text(struct cursor *c);
/* A count of items of at least @each_bytes each. The cursor becomes bad when
 * that many cannot follow, so that a hostile count reserves no memory. */
size_t cursor_count(struct cursor *c, size_t each_bytes);

#endif /* BASE_CORE_CODING_H */

/* A borrowed run of bytes: pointer and length, never NUL-terminated by rule.
 *
 * A slice owns nothing. A function that returns one documents how long its
 * bytes live.
 */
#ifndef BASE_CORE_SLICE_H
#define BASE_CORE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *data; /* Borrowed; may be NULL only when len is 0. */
    size_t len;       /* Bytes. */
};

/* For printf: "%.*s", SLICE_ARG(s). */
#define SLICE_ARG(s) ((int)(s).len), ((s).data ? (s).data : "")

/* A slice of a string literal, without its NUL; and an empty one. */
#ifdef __cplusplus
#define SLICE_LIT(s) (slice_make("" s, sizeof(s) - 1))
#define SLICE_EMPTY  (slice_make("", 0))
#else
#define SLICE_LIT(s) ((struct slice){"" s, sizeof(s) - 1})
#define SLICE_EMPTY  ((struct slice){"", 0})
#endif

static inline struct slice slice_make(const void *data, size_t len)
{
    struct slice s = {(const char *)data, len};
    return s;
}

static inline struct slice slice_str(const char *s)
{
    return slice_make(s, strlen(s));
}

static inline bool slice_eq(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool slice_eq_str(struct slice a, const char *s)
{
    return slice_eq(a, slice_str(s));
}

/* memcmp order, a proper prefix first: <0, 0 or >0. */
static inline int slice_cmp(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.data, b.data, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static inline bool slice_starts_with(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len &&
           (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

static inline bool slice_ends_with(struct slice s, struct slice suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.data + (s.len - suffix.len),
                                      suffix.data, suffix.len) == 0);
}

/* [begin, end) of @s; both clamped to its length. */
static inline struct slice slice_sub(struct slice s, size_t begin, size_t end)
{
    if (end > s.len)
        end = s.len;
    if (begin > end)
        begin = end;
    return slice_make(s.data ? s.data + begin : s.data, end - begin);
}

/* Index of the first @c in @s, or s.len. */
static inline size_t slice_find_byte(struct slice s, char c)
{
    const char *p = s.len ? (const char *)memchr(s.data, c, s.len) : NULL;
    return p ? (size_t)(p - s.data) : s.len;
}

/* @s without the spaces, tabs, CR and LF at its ends. */
static inline struct slice slice_trim(struct slice s)
{
    while (s.len > 0 && strchr(" \t\r\n", s.data[0]) && s.data[0] != '\0') {
        s.data++;
        s.len--;
    }
    while (s.len > 0 && strchr(" \t\r\n", s.data[s.len - 1]) &&
           s.data[s.len - 1] != '\0')
        s.len--;
    return s;
}

#endif /* BASE_CORE_SLICE_H */

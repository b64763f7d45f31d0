/* The out-of-line half of integer coding, and the checked cursor. Fast paths
 * are inline in coding.h; here is what is rare (long varints) or checked
 * (every read of a cursor). Integers are stored by memcpy(), so this builds
 * on little-endian machines only. */
#include "base/core/coding.h"

#include "base/core/panic.h"

STATIC_ASSERT(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "coding.h stores integers by memcpy");

const char *get_varint_slow(const char *p, const char *end, uint64_t *v)
{
    uint64_t r = 0;
    unsigned shift;
    for (shift = 0; shift < 64 && p < end; shift += 7) {
        uint64_t byte = (unsigned char)*p++;
        if (shift == 63 && byte > 1)
            return NULL;
        r |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *v = r;
            return p;
        }
    }
    return NULL;
}

void buf_put_u8(struct buf *b, uint8_t v)
{
    buf_append_byte(b, (char)v);
}

void buf_put_le32(struct buf *b, uint32_t v)
{
    put_le32(buf_extend(b, 4), v);
}

void buf_put_le64(struct buf *b, uint64_t v)
{
    put_le64(buf_extend(b, 8), v);
}

void buf_put_be64(struct buf *b, uint64_t v)
{
    put_be64(buf_extend(b, 8), v);
}

void buf_put_varint(struct buf *b, uint64_t v)
{
    char *p = buf_reserve(b, VARINT64_BYTES_MAX);
    b->len += (size_t)(put_varint(p, v) - p);
}

void buf_put_zigzag(struct buf *b, int64_t v)
{
    buf_put_varint(b, zigzag_encode(v));
}

void buf_put_double(struct buf *b, double v)
{
    memcpy(buf_extend(b, sizeof(v)), &v, sizeof(v));
}

void buf_put_lslice(struct buf *b, struct slice s)
{
    buf_put_varint(b, s.len);
    buf_append_slice(b, s);
}

void buf_put_text(struct buf *b, const char *s)
{
    buf_put_u8(b, s != NULL);
    if (s)
        buf_put_lslice(b, slice_str(s));
}

/* The address of @len checked bytes, or NULL when the cursor is or becomes
 * bad. */
static const char *cursor_take_bytes(struct cursor *c, size_t len)
{
    const char *p = c->p;
    if (c->bad || cursor_left(c) < len) {
        c->bad = true;
        return NULL;
    }
    c->p += len;
    return p;
}

uint8_t cursor_u8(struct cursor *c)
{
    const char *p = cursor_take_bytes(c, 1);
    return p ? (uint8_t)*p : 0;
}

uint32_t cursor_le32(struct cursor *c)
{
    const char *p = cursor_take_bytes(c, 4);
    return p ? get_le32(p) : 0;
}

uint64_t cursor_le64(struct cursor *c)
{
    const char *p = cursor_take_bytes(c, 8);
    return p ? get_le64(p) : 0;
}

uint64_t cursor_be64(struct cursor *c)
{
    const char *p = cursor_take_bytes(c, 8);
    return p ? get_be64(p) : 0;
}

uint64_t cursor_varint(struct cursor *c)
{
    uint64_t v = 0;
    const char *p = c->bad ? NULL : get_varint(c->p, c->end, &v);
    if (!p) {
        c->bad = true;
        return 0;
    }
    c->p = p;
    return v;
}

int64_t cursor_zigzag(struct cursor *c)
{
    return zigzag_decode(cursor_varint(c));
}

double cursor_double(struct cursor *c)
{
    double v = 0;
    const char *p = cursor_take_bytes(c, sizeof(v));
    if (p)
        memcpy(&v, p, sizeof(v));
    return v;
}

struct slice cursor_bytes(struct cursor *c, size_t len)
{
    const char *p = cursor_take_bytes(c, len);
    return p ? slice_make(p, len) : SLICE_EMPTY;
}

struct slice cursor_lslice(struct cursor *c)
{
    uint64_t len = cursor_varint(c);
    if (len > cursor_left(c)) {
        c->bad = true;
        return SLICE_EMPTY;
    }
    return cursor_bytes(c, (size_t)len);
}

char *cursor_text(struct cursor *c)
{
    struct slice s;
    if (cursor_u8(c) == 0)
        return NULL;
    s = cursor_lslice(c);
    return c->bad ? NULL : mem_strndup(s.data, s.len);
}

size_t cursor_count(struct cursor *c, size_t each_bytes)
{
    uint64_t n = cursor_varint(c);
    if (n > cursor_left(c) / (each_bytes ? each_bytes : 1)) {
        c->bad = true;
        return 0;
    }
    return (size_t)n;
}

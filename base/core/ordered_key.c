/* Order-preserving encoding of strings and numbers. */
#include "base/core/ordered_key.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"

/* After a 00: what it stood for. */
#define ESCAPED_ZERO 0xff
#define END_MARK     0x01

#define SIGN_BIT (UINT64_C(1) << 63)

static uint64_t flip_order(uint64_t v, enum key_order order)
{
    return order == KEY_DESCENDING ? ~v : v;
}

void ordered_put_u64(struct buf *b, uint64_t v, enum key_order order)
{
    buf_put_be64(b, flip_order(v, order));
}

uint64_t ordered_get_u64(struct cursor *c, enum key_order order)
{
    uint64_t v = cursor_be64(c);
    return c->bad ? 0 : flip_order(v, order);
}

void ordered_put_i64(struct buf *b, int64_t v, enum key_order order)
{
    ordered_put_u64(b, (uint64_t)v ^ SIGN_BIT, order);
}

int64_t ordered_get_i64(struct cursor *c, enum key_order order)
{
    uint64_t v = ordered_get_u64(c, order);
    return c->bad ? 0 : (int64_t)(v ^ SIGN_BIT);
}

void ordered_put_double(struct buf *b, double v, enum key_order order)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    bits = bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
    ordered_put_u64(b, bits, order);
}

double ordered_get_double(struct cursor *c, enum key_order order)
{
    uint64_t bits = ordered_get_u64(c, order);
    double v = 0;
    bits = bits & SIGN_BIT ? bits & ~SIGN_BIT : ~bits;
    if (!c->bad)
        memcpy(&v, &bits, sizeof(v));
    return v;
}

static void put_zero_and(struct buf *b, int second, unsigned char flip)
{
    buf_append_byte(b, (char)flip);
    buf_append_byte(b, (char)(unsigned char)(second ^ flip));
}

void ordered_put_bytes(struct buf *b, struct slice s, enum key_order order)
{
    unsigned char flip = order == KEY_DESCENDING ? 0xff : 0;
    buf_reserve(b, s.len + 2);
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '\0')
            put_zero_and(b, ESCAPED_ZERO, flip);
        else
            buf_append_byte(b, (char)((unsigned char)s.data[i] ^ flip));
    }
    put_zero_and(b, END_MARK, flip);
}

void ordered_get_bytes(struct cursor *c, struct buf *out, enum key_order order)
{
    unsigned char flip = order == KEY_DESCENDING ? 0xff : 0;
    size_t start = out->len;
    while (!c->bad) {
        unsigned char byte = cursor_u8(c) ^ flip;
        unsigned char next;
        if (c->bad)
            break;
        if (byte != 0) {
            buf_append_byte(out, (char)byte);
            continue;
        }
        next = cursor_u8(c) ^ flip;
        if (c->bad)
            break;
        if (next == END_MARK)
            return;
        if (next == ESCAPED_ZERO)
            buf_append_byte(out, '\0');
        else
            c->bad = true;
    }
    buf_truncate(out, start);
}

/* Fields of protocol buffers. A message is walked once for each field that is
 * looked up: the messages looked into have few fields, and an index would cost
 * more than it saves. A message field whose length is not known when it begins
 * gets a length of fixed size, a padded varint, so that nothing moves when it
 * is closed.
 */
#include "base/core/pb.h"

#include "base/core/panic.h"

/* Bytes of a length that is filled in later, whatever it will be. */
#define OPEN_LENGTH_BYTES 4

uint64_t pb_take_integer(struct cursor *c, enum pb_wire wire)
{
    switch (wire) {
    case PB_VARINT: return cursor_short_varint(c);
    case PB_FIXED64: return cursor_le64(c);
    case PB_FIXED32: return cursor_le32(c);
    case PB_BYTES:
    default: c->bad = true; return 0;
    }
}

struct slice pb_find(struct slice message, unsigned number)
{
    struct cursor c = cursor_make(message);
    struct slice found = SLICE_EMPTY;
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, number))
            found = f.bytes;
    return found;
}

uint64_t pb_find_integer(struct slice message, unsigned number)
{
    struct cursor c = cursor_make(message);
    uint64_t found = 0;
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_integer(&f, number))
            found = f.integer;
    return found;
}

bool pb_is_message(struct slice message)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    while (pb_next(&c, &f))
        ;
    return !c.bad;
}

bool pb_has_field(struct slice message, unsigned number)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (f.number == number)
            return true;
    return false;
}

void pb_copy_fields(struct buf *out,
                    struct slice message,
                    unsigned number,
                    bool keep)
{
    struct cursor c = cursor_make(message);
    const char *begin = c.p;
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if ((f.number == number) == keep)
            buf_append(out, begin, (size_t)(c.p - begin));
        begin = c.p;
    }
}

void pb_put_head(struct buf *out, unsigned number, size_t len)
{
    PRE(number > 0);
    buf_put_varint(out, (uint64_t)number << 3 | PB_BYTES);
    buf_put_varint(out, len);
}

void pb_put_bytes(struct buf *out, unsigned number, struct slice s)
{
    pb_put_head(out, number, s.len);
    buf_append_slice(out, s);
}

void pb_put_integer(struct buf *out, unsigned number, int64_t v)
{
    PRE(number > 0);
    buf_put_varint(out, (uint64_t)number << 3 | PB_VARINT);
    buf_put_varint(out, (uint64_t)v);
}

size_t pb_open(struct buf *out, unsigned number)
{
    PRE(number > 0);
    buf_put_varint(out, (uint64_t)number << 3 | PB_BYTES);
    buf_append_fill(out, 0, OPEN_LENGTH_BYTES);
    return out->len;
}

void pb_close(struct buf *out, size_t opened)
{
    size_t len = out->len - opened;
    char *p = out->data + opened - OPEN_LENGTH_BYTES;
    PRE(opened > OPEN_LENGTH_BYTES && opened <= out->len);
    PRE(len < (size_t)1 << (7 * OPEN_LENGTH_BYTES));
    for (int i = 0; i < OPEN_LENGTH_BYTES - 1; i++, len >>= 7)
        p[i] = (char)(unsigned char)(len | 0x80);
    p[OPEN_LENGTH_BYTES - 1] = (char)(len & 0x7f);
}

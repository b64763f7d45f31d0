/* Protocol buffers without generated code: fields are named by number, read
 * where they lie, and written straight into the reply.
 *
 * Reading is for bytes from anywhere: cursor.bad says that they are no message.
 */
#ifndef BIGTABLE_GATEWAY_PB_H
#define BIGTABLE_GATEWAY_PB_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/slice.h"

enum pb_wire {
    PB_VARINT = 0,
    PB_FIXED64 = 1,
    PB_BYTES = 2,
    PB_FIXED32 = 5
};

struct pb_field {
    uint64_t number;
    enum pb_wire wire;
    uint64_t integer;   /* PB_VARINT, PB_FIXED64. */
    struct slice bytes; /* PB_BYTES; borrowed from the message. */
};

/* The integer of a field of another kind than bytes. */
uint64_t pb_take_integer(struct cursor *c, enum pb_wire wire);

/* The next field; false at the end, or when @c is bad. Nearly all tags and most
 * lengths have one byte or two. Nobody is given the address of @f, so that it
 * may lie in registers: one who copies a slice that was just put into memory in
 * halves would wait until both are there. */
static inline bool pb_next(struct cursor *c, struct pb_field *f)
{
    uint64_t tag;
    if (c->bad || c->p == c->end)
        return false;
    tag = cursor_short_varint(c);
    *f = (struct pb_field){tag >> 3, (enum pb_wire)(tag & 7), 0, SLICE_EMPTY};
    if (LIKELY(f->wire == PB_BYTES)) {
        size_t len = (size_t)cursor_short_varint(c);
        if (LIKELY(!c->bad && len <= cursor_left(c))) {
            f->bytes = slice_make(c->p, len);
            c->p += len;
        } else {
            c->bad = true;
        }
    } else {
        f->integer = pb_take_integer(c, f->wire);
    }
    c->bad |= f->number == 0;
    return !c->bad;
}

/* Is it field @number, of bytes (a string, a message) or an integer? */
static inline bool pb_is_bytes(const struct pb_field *f, unsigned number)
{
    return f->number == number && f->wire == PB_BYTES;
}

static inline bool pb_is_integer(const struct pb_field *f, unsigned number)
{
    return f->number == number && f->wire == PB_VARINT;
}

/* Field @number of @message, its last one; empty when there is none. */
struct slice pb_find(struct slice message, unsigned number);
uint64_t pb_find_integer(struct slice message, unsigned number);
/* Is field @number there, if only empty? */
bool pb_has_field(struct slice message, unsigned number);
/* Is @message well-formed, as far as its own fields go? */
bool pb_is_message(struct slice message);
/* Append all fields of @message whose number is @number (@keep), or is not. */
void pb_copy_fields(struct buf *out,
                    struct slice message,
                    unsigned number,
                    bool keep);

void pb_put_bytes(struct buf *out, unsigned number, struct slice s);
void pb_put_integer(struct buf *out, unsigned number, int64_t v);
/* The head of a message field of @len bytes; they follow. */
void pb_put_head(struct buf *out, unsigned number, size_t len);

/* A message field whose length is not known yet: pb_open() ... pb_close(). At
 * most 256 MiB. */
size_t pb_open(struct buf *out, unsigned number);
void pb_close(struct buf *out, size_t opened);

/* Bytes that such a field takes with its tag, for a number below 16. */
static inline size_t pb_bytes_size(size_t len)
{
    return 1 + varint_bytes(len) + len;
}

#endif /* BIGTABLE_GATEWAY_PB_H */

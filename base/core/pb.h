/* Protocol buffers, read where they lie and written straight into the reply.
 *
 * A request is a buffer of a connection, and most of it goes to the store
 * unchanged: unpacking it into a tree of objects, as protobuf-c does, would
 * copy every value, and take memory in proportion to what a client claims. So a
 * cursor walks over the fields of a message, and a handler picks those it wants
 * by number. Those of the public API come from its .proto files (api_fields.h,
 * which generate_api.py writes while the program is built).
 *
 * Messages come from untrusted peers: a cursor that finds them malformed sets
 * `bad` and ends the walk. Pure; any thread.
 */
#ifndef BASE_CORE_PB_H
#define BASE_CORE_PB_H

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

/* A field as a .proto file declares it, in the generated tables. */
struct pb_message_field {
    const char *name; /* "display_name". */
    unsigned number;
    enum pb_wire wire;
    unsigned oneof; /* Which of its message's oneofs it is in; 0: none. */
};

struct pb_message {
    const char *name; /* "Cluster". */
    const struct pb_message_field *fields;
    size_t field_count;
};

/* Take the integer of a field that does not hold bytes. Any other wire type
 * makes @c bad. */
uint64_t pb_take_integer(struct cursor *c, enum pb_wire wire);

/* Take the next field; false at the end, or when @c is bad. Nearly all tags and
 * most lengths have one byte or two. @f is filled here, by value, so that the
 * compiler can keep it in registers: a slice that has just been stored in two
 * halves and is loaded whole stalls the processor until both stores retire. */
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

/* Is @f field @number, and does it hold bytes (a string, a message) or an
 * integer, as wanted? */
static inline bool pb_is_bytes(const struct pb_field *f, unsigned number)
{
    return f->number == number && f->wire == PB_BYTES;
}

static inline bool pb_is_integer(const struct pb_field *f, unsigned number)
{
    return f->number == number && f->wire == PB_VARINT;
}

/* The last field @number of @message, borrowed from it; empty when there is
 * none. Fields before a malformed one count. */
struct slice pb_find(struct slice message, unsigned number);
/* The same for an integer; 0 when there is none. */
uint64_t pb_find_integer(struct slice message, unsigned number);
/* Is field @number present, even if empty? */
bool pb_has_field(struct slice message, unsigned number);
/* Is @message well-formed? Messages within it are not looked into. */
bool pb_is_message(struct slice message);
/* Append the fields of @message whose number is @number (@keep), or all others
 * (!@keep), up to the first malformed one. */
void pb_copy_fields(struct buf *out,
                    struct slice message,
                    unsigned number,
                    bool keep);

/* Append field @number; @s is copied. */
void pb_put_bytes(struct buf *out, unsigned number, struct slice s);
void pb_put_integer(struct buf *out, unsigned number, int64_t v);
/* Append the tag and length of a field of @len bytes, which the caller appends
 * next. */
void pb_put_head(struct buf *out, unsigned number, size_t len);

/* Begin a message field whose length is not known yet, of at most 256 MiB.
 * Bytes appended until pb_close(), which takes the value returned, are the
 * message. Fields that are open together are closed in reverse order. */
size_t pb_open(struct buf *out, unsigned number);
void pb_close(struct buf *out, size_t opened);

/* Bytes that a field of @len bytes takes with its tag; its number is below
 * 16. */
static inline size_t pb_bytes_size(size_t len)
{
    return 1 + varint_bytes(len) + len;
}

#endif /* BASE_CORE_PB_H */

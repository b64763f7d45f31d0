/* Reading bodies that are arrays of fields in a fixed order (codec.h).
 *
 * A message is read between message_begin() and message_end(), which skips
 * fields that a newer writer has added. A violated bound makes the reader bad,
 * and the message corrupt.
 *
 * Threads: none of its own; one thread a reader.
 */
#ifndef BASE_RPC_RPC_MESSAGE_H
#define BASE_RPC_RPC_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/rpc/codec.h"

struct message_reader {
    struct codec_reader r;
    uint32_t count; /* Fields in the message, */
    uint32_t known; /* and those this program knows. */
};

static inline struct message_reader message_begin(struct slice in,
                                                  uint32_t known)
{
    struct message_reader m = {.r = codec_reader_make(in), .known = known};
    m.count = codec_get_array(&m.r);
    m.r.bad |= m.count < known;
    return m;
}

/* Errors: ERR_CORRUPT: malformed @what. */
MUST_CHECK static inline int
message_end(struct message_reader *m, const char *what, struct err *err)
{
    for (uint32_t i = m->known; i < m->count && !m->r.bad; i++)
        codec_skip(&m->r);
    return codec_done(&m->r) ? 0
                             : err_set(err, ERR_CORRUPT, "malformed %s", what);
}

/* An array of exactly @fields values inside of a message. */
static inline void message_part(struct codec_reader *r, uint32_t fields)
{
    r->bad |= codec_get_array(r) != fields;
}

/* Bytes or text, borrowed; at most @max. */
static inline struct slice message_bytes(struct codec_reader *r, size_t max)
{
    struct slice s = codec_get_bytes(r);
    r->bad |= s.len > max;
    return s;
}

static inline uint32_t message_u32(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT32_MAX;
    return (uint32_t)v;
}

static inline uint16_t message_u16(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT16_MAX;
    return (uint16_t)v;
}

static inline uint8_t message_u8(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT8_MAX;
    return (uint8_t)v;
}

/* Bytes, or nothing: absent is not the same as empty. */
static inline void
message_put_maybe(struct buf *out, bool there, struct slice s)
{
    if (there)
        codec_put_bin(out, s);
    else
        codec_put_nil(out);
}

static inline struct slice message_maybe(struct codec_reader *r, bool *there)
{
    *there = codec_peek(r) != CODEC_NIL;
    if (*there)
        return codec_get_bytes(r);
    codec_skip(r);
    return SLICE_EMPTY;
}

/* The length of an array of at most @max. */
static inline uint32_t message_count(struct codec_reader *r, size_t max)
{
    uint32_t n = codec_get_array(r);
    r->bad |= n > max;
    return r->bad ? 0 : n;
}

#endif /* BASE_RPC_RPC_MESSAGE_H */

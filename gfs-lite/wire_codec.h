/* What the readers and writers of messages share. Private to gfs-lite's
 * messages.
 *
 * A message is read between message_begin() and message_end(), which knows
 * fields that a newer writer has added and passes over them.
 */
#ifndef GFS_LITE_WIRE_CODEC_H
#define GFS_LITE_WIRE_CODEC_H

#include "base/core/err.h"
#include "base/rpc/codec.h"
#include "gfs-lite/command.h"

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
MUST_CHECK int
message_end(struct message_reader *m, const char *what, struct err *err);

/* A struct inside of a message. */
static inline void part_begin(struct codec_reader *r, uint32_t fields)
{
    r->bad |= codec_get_array(r) != fields;
}

static inline uint32_t wire_get_u32(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT32_MAX;
    return (uint32_t)v;
}

static inline uint16_t wire_get_u16(struct codec_reader *r)
{
    uint64_t v = codec_get_u64(r);
    r->bad |= v > UINT16_MAX;
    return (uint16_t)v;
}

static inline struct slice wire_get_text(struct codec_reader *r, size_t max)
{
    struct slice s = codec_get_bytes(r);
    r->bad |= s.len > max;
    return s;
}

/* The length of an array of at most @max. */
static inline uint32_t wire_get_count(struct codec_reader *r, uint32_t max)
{
    uint32_t n = codec_get_array(r);
    r->bad |= n > max;
    return r->bad ? 0 : n;
}

void wire_put_servers(const struct gfs_server_set *s, struct buf *out);
void wire_get_servers(struct codec_reader *r, struct gfs_server_set *s);

#endif /* GFS_LITE_WIRE_CODEC_H */

/* Encoding and decoding of stream tokens. They come back from untrusted
 * peers, so a checksum and the only accepted way to write each of them rule
 * out all that this server has not made. */
#include "bigtable/gateway/stream_token.h"

#include "base/core/base64.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"

#define STREAM_TOKEN_VERSION 1
#define CRC_BYTES            4

static uint32_t token_crc(struct slice bytes, const struct stream_table *table)
{
    uint32_t crc = crc32c_extend(0, bytes.data, bytes.len);
    return crc32c_extend(crc, table->name.data, table->name.len);
}

void stream_token_put(struct buf *out,
                      const struct stream_table *table,
                      const struct stream_token *token)
{
    struct buf bytes = BUF_INIT;
    PRE(token->place.len > 0);
    PRE(table->name.len > 0);
    buf_put_u8(&bytes, STREAM_TOKEN_VERSION);
    buf_put_varint(&bytes, table->number);
    buf_put_zigzag(&bytes, token->watermark_us);
    buf_put_zigzag(&bytes, token->end_us);
    buf_append_slice(&bytes, token->place);
    buf_put_le32(&bytes, token_crc(buf_slice(&bytes), table));
    base64_put(out, buf_slice(&bytes));
    buf_close(&bytes);
}

static bool token_read(struct slice bytes,
                       const struct stream_table *table,
                       struct stream_token *out)
{
    struct slice body;
    struct cursor c;
    uint64_t number;
    if (bytes.len <= CRC_BYTES)
        return false;
    body = slice_sub(bytes, 0, bytes.len - CRC_BYTES);
    if (get_le32(bytes.data + body.len) != token_crc(body, table))
        return false;
    c = cursor_make(body);
    if (cursor_u8(&c) != STREAM_TOKEN_VERSION)
        return false;
    number = cursor_varint(&c);
    out->watermark_us = cursor_zigzag(&c);
    out->end_us = cursor_zigzag(&c);
    out->place = slice_make(c.p, cursor_left(&c));
    return !c.bad && number == table->number && out->watermark_us >= 0 &&
           out->end_us >= 0 && out->place.len > 0;
}

/* Is @text what base64_put() makes of @bytes? Bits that stand for nothing are
 * zero then. */
static bool is_canonical(struct slice text, struct slice bytes)
{
    struct buf again = BUF_INIT;
    bool same;
    base64_put(&again, bytes);
    same = slice_eq(buf_slice(&again), text);
    buf_close(&again);
    return same;
}

int stream_token_get(struct slice text,
                     const struct stream_table *table,
                     struct buf *room,
                     struct stream_token *out,
                     struct err *err)
{
    PRE(room->len == 0);
    if (text.len <= STREAM_TOKEN_BYTES_MAX && base64_decode(text, room) &&
        is_canonical(text, buf_slice(room)) &&
        token_read(buf_slice(room), table, out))
        return 0;
    return err_set(err, ERR_INVALID,
                   "this is no token of a change stream of table %.*s",
                   SLICE_ARG(table->name));
}

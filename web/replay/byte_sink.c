/* Bytes in pieces. A writer gets a piece once enough is pending, so that a call
 * of it costs little beside the bytes.
 */
#include "web/replay/byte_sink.h"

static void byte_sink_flush(struct byte_sink *s)
{
    if (s->rc == 0 && s->pending.len)
        s->rc = s->write(s->ctx, buf_slice(&s->pending), s->err);
    buf_clear(&s->pending);
}

void byte_sink_check(struct byte_sink *s)
{
    if (s->write && s->pending.len >= BYTE_SINK_PIECE_BYTES)
        byte_sink_flush(s);
}

void byte_sink_put(struct byte_sink *s, struct slice bytes)
{
    while (bytes.len) {
        size_t n =
            s->write ? MIN_OF(bytes.len, BYTE_SINK_PIECE_BYTES) : bytes.len;
        buf_append(&s->pending, bytes.data, n);
        bytes = slice_sub(bytes, n, bytes.len);
        byte_sink_check(s);
    }
}

int byte_sink_finish(struct byte_sink *s)
{
    if (s->write)
        byte_sink_flush(s);
    return s->rc;
}

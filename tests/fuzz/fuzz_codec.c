/* No bytes make the readers of frames and messages read outside them, hang, or
 * disagree with the writers: what is read and written again reads the same. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/frame.h"
#include "base/rpc/rpc.h"
#include "tests/lib/frame_header.h"

/* Values copied per input: enough for every path, few enough to be fast. */
#define VALUES_MAX 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned values_left;

/* Read one value and write it to @out. Depth is bounded by the caller. */
static void copy_value(struct codec_reader *r, struct buf *out, unsigned depth)
{
    enum codec_type type = codec_peek(r);
    struct slice s;
    uint32_t count;
    if (values_left == 0 || depth > CODEC_DEPTH_MAX) {
        r->bad = true;
        return;
    }
    values_left--;
    switch (type) {
    case CODEC_BOOL: codec_put_bool(out, codec_get_bool(r)); break;
    case CODEC_UINT: codec_put_u64(out, codec_get_u64(r)); break;
    case CODEC_INT: codec_put_i64(out, codec_get_i64(r)); break;
    case CODEC_STR:
    case CODEC_BIN:
        s = codec_get_bytes(r);
        if (type == CODEC_STR)
            codec_put_str(out, s);
        else
            codec_put_bin(out, s);
        break;
    case CODEC_ARRAY:
        count = codec_get_array(r);
        codec_put_array(out, count);
        for (uint32_t i = 0; i < count && !r->bad; i++)
            copy_value(r, out, depth + 1);
        break;
    case CODEC_FLOAT: /* Kinds that Quarry never writes are copied as they are.
                       */
    case CODEC_MAP:
    case CODEC_NIL:
        s.data = r->p;
        codec_skip(r);
        buf_append(out, s.data, (size_t)(r->p - s.data));
        break;
    case CODEC_BAD: r->bad = true; break;
    }
}

static bool copy_all(struct slice in, struct buf *out)
{
    struct codec_reader r = codec_reader_make(in);
    values_left = VALUES_MAX;
    while (!r.bad && r.p < r.end)
        copy_value(&r, out, 0);
    return !r.bad;
}

static void check_messages(struct slice in)
{
    struct codec_reader r = codec_reader_make(in);
    struct buf once = BUF_INIT;
    struct buf twice = BUF_INIT;
    while (!r.bad && r.p < r.end)
        codec_skip(&r);
    if (copy_all(in, &once)) {
        INVARIANT(copy_all(buf_slice(&once), &twice));
        INVARIANT(slice_eq(buf_slice(&once), buf_slice(&twice)));
    }
    buf_close(&once);
    buf_close(&twice);
}

/* A body that names whom a request acts for: what is taken off its front is a
 * valid name, and nothing else goes. */
static void check_act_as(struct slice body)
{
    struct frame f = {
        .kind = FRAME_REQUEST, .flags = FRAME_ACT_AS, .body = body};
    if (frame_take_front(&f, NULL))
        return;
    INVARIANT(rpc_name_is_valid(f.act_as));
    INVARIANT(f.act_as.data == body.data + 1);
    INVARIANT(1 + f.act_as.len + f.body.len == body.len);
}

static void check_frame(struct slice in)
{
    struct frame f;
    struct frame again;
    char header[FRAME_HEADER_BYTES];
    if (in.len < FRAME_HEADER_BYTES)
        return;
    if (frame_decode_header(in.data, &f, NULL) == 0)
        INVARIANT(f.body.len <= FRAME_BODY_BYTES_MAX);
    /* The fields themselves, under a header that is whole. */
    memcpy(&f.call_id, in.data, sizeof(f.call_id));
    f = (struct frame){.kind = FRAME_REQUEST,
                       .call_id = f.call_id,
                       .body = slice_sub(in, 9, in.len)};
    frame_encode_header(&f, header);
    INVARIANT(frame_decode_header(header, &again, NULL) == 0);
    INVARIANT(again.call_id == f.call_id && again.body.len == f.body.len);
    again.body = f.body;
    INVARIANT(frame_verify(&again, crc32c(f.body.data, f.body.len), 0, NULL) ==
              0);
    check_act_as(f.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data, size);
    check_messages(in);
    check_frame(in);
    return 0;
}

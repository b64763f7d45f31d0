/* Errors on their way between processes. */
#include "base/rpc/error_reply.h"

#include "base/rpc/codec.h"

void error_reply_put(const struct err *e, int code, struct buf *out)
{
    const char *text = e->code ? e->text : err_name(code);
    buf_clear(out);
    codec_put_array(out, 2);
    codec_put_str(out, slice_str(text));
    codec_put_str(out, slice_str(e->code ? e->hint : ""));
}

int error_reply_get(struct slice body, int status, struct err *err)
{
    struct codec_reader r = codec_reader_make(body);
    uint32_t count = codec_get_array(&r);
    struct slice text = codec_get_bytes(&r);
    struct slice hint = codec_get_bytes(&r);
    if (count < 2 || r.bad || status > 0)
        return err_set(err, ERR_CORRUPT, "malformed error response");
    err_set(err, status, "%.*s", (int)MIN_OF(text.len, (size_t)ERR_TEXT_BYTES),
            text.data);
    if (hint.len)
        err_hint(err, "%.*s", (int)MIN_OF(hint.len, (size_t)ERR_HINT_BYTES),
                 hint.data);
    return status;
}

/* Errors inside of messages: a code that the message carries, a sentence, and a
 * detail for programs. Texts are cut to the size of struct err, and a detail of
 * a newer version counts as none. */
#include "base/rpc/error_reply.h"

#include <string.h>

#include "base/rpc/codec.h"

#define PLAIN_FIELDS  2
#define DETAIL_FIELDS 5

/* A detail about one of the handler's own connections is not sent: a caller
 * that reads "refused" would take the handler's server for dead. */
static bool detail_is_sent(enum err_detail detail)
{
    return detail != ERR_DETAIL_NONE && detail != ERR_DETAIL_REFUSED &&
           detail != ERR_DETAIL_OTHER_PROTOCOL && detail != ERR_DETAIL_HUNG_UP;
}

uint32_t error_fields_count(const struct err *e)
{
    return e->code && detail_is_sent(e->detail) ? DETAIL_FIELDS : PLAIN_FIELDS;
}

static void put_fields(const struct err *e, const char *text, struct buf *out)
{
    codec_put_str(out, slice_str(text));
    codec_put_str(out, slice_str(e->code ? e->hint : ""));
    if (error_fields_count(e) == PLAIN_FIELDS)
        return;
    codec_put_u64(out, e->detail);
    codec_put_u64(out, e->retry_us);
    codec_put_str(out, slice_str(e->subject));
}

void error_fields_put(const struct err *e, struct buf *out)
{
    put_fields(e, e->code ? e->text : "", out);
}

static void get_detail(struct codec_reader *r, struct err *err)
{
    uint64_t detail = codec_get_u64(r);
    uint64_t retry_us = codec_get_u64(r);
    struct slice subject = codec_get_bytes(r);
    if (!err || r->bad || detail >= ERR_DETAIL_COUNT ||
        !detail_is_sent((enum err_detail)detail))
        return;
    err->detail = (enum err_detail)detail;
    err->retry_us = MIN_OF(retry_us, ERR_RETRY_US_MAX);
    if (subject.len < sizeof(err->subject) && subject.len > 0) {
        memcpy(err->subject, subject.data, subject.len);
        err->subject[subject.len] = '\0';
    }
}

uint32_t error_fields_get(struct codec_reader *r,
                          uint32_t count,
                          int code,
                          struct err *err)
{
    struct slice text = codec_get_bytes(r);
    struct slice hint = codec_get_bytes(r);
    r->bad |= count < PLAIN_FIELDS;
    if (r->bad)
        return 0;
    err_set(err, code, "%.*s", (int)MIN_OF(text.len, (size_t)ERR_TEXT_BYTES),
            text.data);
    if (hint.len)
        err_hint(err, "%.*s", (int)MIN_OF(hint.len, (size_t)ERR_HINT_BYTES),
                 hint.data);
    if (count < DETAIL_FIELDS)
        return PLAIN_FIELDS;
    get_detail(r, err);
    return DETAIL_FIELDS;
}

void error_reply_put(const struct err *e, int code, struct buf *out)
{
    buf_clear(out);
    codec_put_array(out, error_fields_count(e));
    put_fields(e, e->code ? e->text : err_name(code), out);
}

int error_reply_get(struct slice body, int status, struct err *err)
{
    struct codec_reader r = codec_reader_make(body);
    uint32_t count = codec_get_array(&r);
    (void)error_fields_get(&r, count, status, err);
    if (r.bad || status > 0)
        return err_set(err, ERR_CORRUPT, "malformed error response");
    return status;
}

/* The numbers of the fields are those of opentelemetry-proto's trace.proto,
 * common.proto and resource.proto. Strings of protocol buffers are UTF-8, and a
 * receiver refuses the whole request for one that is not: other bytes of texts
 * are replaced. */
#include "base/otlp/otlp_message.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/err.h"
#include "base/core/pb.h"
#include "base/core/text.h"
#include "base/otlp/otlp_settings.h"
#include "base/trace/span_record.h"

enum {
    REQUEST_RESOURCE_SPANS = 1,
    RESOURCE_SPANS_RESOURCE = 1,
    RESOURCE_SPANS_SCOPE_SPANS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_SPANS_SCOPE = 1,
    SCOPE_SPANS_SPANS = 2,
    SCOPE_NAME = 1,
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_TRACE_STATE = 3,
    SPAN_PARENT_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND_FIELD = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16,
    STATUS_MESSAGE = 2,
    STATUS_CODE = 3,
    PAIR_KEY = 1,
    PAIR_VALUE = 2,
    VALUE_STRING = 1,
    VALUE_INTEGER = 3,
    RESPONSE_PARTIAL = 1,
    PARTIAL_REFUSED = 1,
    PARTIAL_WHY = 2,
};

#define STATUS_ERROR 2

/* Of Span.flags: W3C's, and whether the parent is of another process. */
#define FLAG_SAMPLED       1
#define FLAG_KNOWS_REMOTE  0x100
#define FLAG_PARENT_REMOTE 0x200

static void put_tag(struct buf *out, unsigned number, enum pb_wire wire)
{
    buf_put_varint(out, number << 3 | wire);
}

static void put_text(struct buf *out, unsigned number, struct slice text)
{
    struct buf plain = BUF_INIT;
    if (utf8_valid(text)) {
        pb_put_bytes(out, number, text);
        return;
    }
    for (size_t i = 0; i < text.len; i++)
        buf_append_byte(&plain,
                        (signed char)text.data[i] < 0 ? '?' : text.data[i]);
    pb_put_bytes(out, number, buf_slice(&plain));
    buf_close(&plain);
}

static void put_text_attribute(struct buf *out,
                               unsigned number,
                               struct slice key,
                               struct slice text)
{
    size_t pair = pb_open(out, number);
    size_t value;
    put_text(out, PAIR_KEY, key);
    value = pb_open(out, PAIR_VALUE);
    put_text(out, VALUE_STRING, text);
    pb_close(out, value);
    pb_close(out, pair);
}

static void put_number_attribute(struct buf *out, struct slice key, int64_t n)
{
    size_t pair = pb_open(out, SPAN_ATTRIBUTES);
    size_t value;
    put_text(out, PAIR_KEY, key);
    value = pb_open(out, PAIR_VALUE);
    pb_put_integer(out, VALUE_INTEGER, n);
    pb_close(out, value);
    pb_close(out, pair);
}

/* Ids are big-endian. */
static void put_id(struct buf *out, unsigned number, uint64_t id)
{
    pb_put_head(out, number, 8);
    buf_put_be64(out, id);
}

static void put_time(struct buf *out, unsigned number, uint64_t us)
{
    put_tag(out, number, PB_FIXED64);
    buf_put_le64(out, us * 1000);
}

/* OpenTelemetry's numbers, from 1 on in another order. */
static int otlp_kind(enum span_kind kind)
{
    switch (kind) {
    case SPAN_INTERNAL: return 1;
    case SPAN_SERVER: return 2;
    case SPAN_CLIENT: return 3;
    }
    return 0;
}

static void put_own_attributes(struct buf *out, const struct span_record *r)
{
    for (unsigned i = 0; i < r->attribute_count; i++) {
        const struct span_attribute *a = &r->attributes[i];
        struct slice key = slice_make(a->key, a->key_bytes);
        if (a->is_text && slice_eq_str(key, "tracestate"))
            put_text(out, SPAN_TRACE_STATE, a->text);
        else if (a->is_text)
            put_text_attribute(out, SPAN_ATTRIBUTES, key, a->text);
        else
            put_number_attribute(out, key, a->number);
    }
}

/* Those of the semantic conventions that apply. */
static void put_common_attributes(struct buf *out, const struct span_record *r)
{
    if (r->kind != SPAN_INTERNAL)
        put_text_attribute(out, SPAN_ATTRIBUTES, SLICE_LIT("rpc.system"),
                           SLICE_LIT("quarry"));
    if (r->peer.len)
        put_text_attribute(out, SPAN_ATTRIBUTES,
                           SLICE_LIT("network.peer.address"), r->peer);
    if (r->status)
        put_text_attribute(out, SPAN_ATTRIBUTES, SLICE_LIT("error.type"),
                           slice_str(err_name(r->status)));
    put_text_attribute(out, SPAN_ATTRIBUTES, SLICE_LIT("quarry.kept"),
                       r->flags & SPAN_SAMPLED ? SLICE_LIT("sampled")
                                               : SLICE_LIT("slow"));
}

static void put_status(struct buf *out, const struct span_record *r)
{
    size_t status;
    if (r->status == 0)
        return;
    status = pb_open(out, SPAN_STATUS);
    put_text(out, STATUS_MESSAGE, slice_str(err_name(r->status)));
    pb_put_integer(out, STATUS_CODE, STATUS_ERROR);
    pb_close(out, status);
}

static void put_flags(struct buf *out, const struct span_record *r)
{
    uint32_t flags = FLAG_KNOWS_REMOTE;
    if (r->flags & SPAN_SAMPLED)
        flags |= FLAG_SAMPLED;
    if (r->kind == SPAN_SERVER && r->parent)
        flags |= FLAG_PARENT_REMOTE;
    put_tag(out, SPAN_FLAGS, PB_FIXED32);
    buf_put_le32(out, flags);
}

void otlp_message_add(struct buf *spans, const struct span_record *r)
{
    size_t span = pb_open(spans, SCOPE_SPANS_SPANS);
    pb_put_head(spans, SPAN_TRACE_ID, 16);
    buf_put_be64(spans, r->trace.high);
    buf_put_be64(spans, r->trace.low);
    put_id(spans, SPAN_SPAN_ID, r->id);
    if (r->parent)
        put_id(spans, SPAN_PARENT_ID, r->parent);
    put_text(spans, SPAN_NAME, r->name);
    pb_put_integer(spans, SPAN_KIND_FIELD, otlp_kind(r->kind));
    put_time(spans, SPAN_START, r->start_us);
    put_time(spans, SPAN_END, r->start_us + r->duration_us);
    put_own_attributes(spans, r);
    put_common_attributes(spans, r);
    put_status(spans, r);
    put_flags(spans, r);
    pb_close(spans, span);
}

void otlp_message_put(struct buf *out,
                      const struct otlp_pair *resource,
                      size_t resource_count,
                      struct slice spans)
{
    size_t all = pb_open(out, REQUEST_RESOURCE_SPANS);
    size_t part = pb_open(out, RESOURCE_SPANS_RESOURCE);
    for (size_t i = 0; i < resource_count; i++)
        put_text_attribute(out, RESOURCE_ATTRIBUTES,
                           slice_str(resource[i].name),
                           slice_str(resource[i].value));
    pb_close(out, part);
    part = pb_open(out, RESOURCE_SPANS_SCOPE_SPANS);
    {
        size_t scope = pb_open(out, SCOPE_SPANS_SCOPE);
        pb_put_bytes(out, SCOPE_NAME, SLICE_LIT("quarry"));
        pb_close(out, scope);
    }
    buf_append_slice(out, spans);
    pb_close(out, part);
    pb_close(out, all);
}

uint64_t otlp_message_refused(struct slice answer, struct slice *why)
{
    struct slice partial = SLICE_EMPTY;
    *why = SLICE_EMPTY;
    if (!pb_is_message(answer))
        return 0;
    partial = pb_find(answer, RESPONSE_PARTIAL);
    if (!pb_is_message(partial))
        return 0;
    *why = pb_find(partial, PARTIAL_WHY);
    return pb_find_integer(partial, PARTIAL_REFUSED);
}

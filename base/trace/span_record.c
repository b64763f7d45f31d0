/* Coding of spans that have ended. Spans are kept in this form, not as
 * structs, so that the memory for them is bounded in bytes and most spans take
 * about a hundred. */
#include "base/trace/span_record.h"

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"

#define SPAN_VERSION 1

const char *span_kind_name(enum span_kind kind)
{
    switch (kind) {
    case SPAN_INTERNAL: return "internal";
    case SPAN_SERVER: return "server";
    case SPAN_CLIENT: return "client";
    }
    return "?";
}

static void put_short(struct buf *out, struct slice s)
{
    size_t len = MIN_OF(s.len, (size_t)SPAN_TEXT_BYTES_MAX);
    buf_put_u8(out, (uint8_t)len);
    buf_append(out, s.data, len);
}

static void put_attribute(struct buf *out, const struct span_attribute *a)
{
    put_short(out, slice_make(a->key, a->key_bytes));
    buf_put_u8(out, a->is_text);
    if (a->is_text)
        put_short(out, a->text);
    else
        buf_put_le64(out, (uint64_t)a->number);
}

void span_record_put(const struct span_record *r, struct buf *out)
{
    size_t at = out->len;
    PRE(r->attribute_count <= SPAN_ATTRIBUTES_MAX);
    buf_put_le32(out, 0);
    buf_put_u8(out, SPAN_VERSION);
    buf_put_u8(out, (uint8_t)r->kind);
    buf_put_le32(out, (uint32_t)r->status);
    buf_put_le64(out, r->trace.high);
    buf_put_le64(out, r->trace.low);
    buf_put_le64(out, r->id);
    buf_put_le64(out, r->parent);
    buf_put_le64(out, r->start_us);
    buf_put_le64(out, r->duration_us);
    buf_put_u8(out, r->flags);
    put_short(out, r->name);
    put_short(out, r->peer);
    buf_put_u8(out, (uint8_t)r->attribute_count);
    for (unsigned i = 0; i < r->attribute_count; i++)
        put_attribute(out, &r->attributes[i]);
    put_le32(out->data + at, (uint32_t)(out->len - at - 4));
    POST(out->len - at <= SPAN_BYTES_MAX);
}

STATIC_ASSERT(SPAN_BYTES_MAX >=
                  4 + 55 + 2 * 256 + 1 + SPAN_ATTRIBUTES_MAX * (2 * 256 + 1),
              "the longest span fits");

static struct slice get_short(struct cursor *c)
{
    return cursor_bytes(c, cursor_u8(c));
}

static void get_attribute(struct cursor *c, struct span_attribute *a)
{
    struct slice key = get_short(c);
    uint8_t kind = cursor_u8(c);
    *a = (struct span_attribute){
        .key = key.data, .key_bytes = (uint8_t)key.len, .is_text = kind == 1};
    c->bad |= kind > 1 || key.len == 0;
    if (a->is_text)
        a->text = get_short(c);
    else
        a->number = (int64_t)cursor_le64(c);
}

static void get_span(struct cursor *c, struct span_record *r)
{
    uint8_t version = cursor_u8(c);
    uint8_t kind = cursor_u8(c);
    *r = (struct span_record){.kind = SPAN_INTERNAL};
    c->bad |= version != SPAN_VERSION || kind >= SPAN_KIND_COUNT;
    if (!c->bad)
        r->kind = (enum span_kind)kind;
    r->status = (int32_t)cursor_le32(c);
    r->trace.high = cursor_le64(c);
    r->trace.low = cursor_le64(c);
    r->id = cursor_le64(c);
    r->parent = cursor_le64(c);
    r->start_us = cursor_le64(c);
    r->duration_us = cursor_le64(c);
    r->flags = cursor_u8(c);
    r->name = get_short(c);
    r->peer = get_short(c);
    r->attribute_count = cursor_u8(c);
    c->bad |= r->attribute_count > SPAN_ATTRIBUTES_MAX ||
              !trace_id_is_set(r->trace) || r->id == 0 ||
              r->start_us > SPAN_TIME_US_MAX ||
              r->duration_us > SPAN_TIME_US_MAX;
    for (unsigned i = 0; i < r->attribute_count && !c->bad; i++)
        get_attribute(c, &r->attributes[i]);
}

int span_record_get(struct slice *in, struct span_record *out, struct err *err)
{
    struct cursor c = cursor_make(*in);
    uint32_t bytes = cursor_le32(&c);
    struct cursor body;
    PRE(in->len > 0);
    if (c.bad || bytes > cursor_left(&c) || bytes > SPAN_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "a span is longer than its message");
    body = cursor_make(slice_make(c.p, bytes));
    get_span(&body, out);
    if (body.bad || cursor_left(&body))
        return err_set(err, ERR_CORRUPT, "malformed span");
    *in = slice_sub(*in, 4 + bytes, in->len);
    return 0;
}

/* Calls as events of the audit log. The body is walked as MessagePack
 * without knowing the method, so that a new method is audited without code
 * of its own; values are cut, because a log line is for people. */
#include "base/rpc/call_audit.h"

#include "base/core/buf.h"
#include "base/core/text.h"
#include "base/rpc/codec.h"
#include "base/runtime/audit.h"

/* Values of a body that are logged, and bytes of each text. */
#define VALUES_MAX ((size_t)12)
#define TEXT_MAX   ((size_t)100)

struct telling {
    struct slice *on;
    struct buf *out;
    size_t count;
};

static bool is_text(struct slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] < 0x20 && s.data[i] != '\n')
            return false;
    return utf8_valid(s);
}

static void put_text(struct telling *t, struct slice s)
{
    if (!is_text(s)) {
        buf_printf(t->out, "\"(%zu bytes)\"", s.len);
        return;
    }
    if (s.len && t->on->len == 0)
        *t->on = s;
    text_put_json(t->out, slice_sub(s, 0, TEXT_MAX));
}

/* Append one scalar value; values inside arrays are listed like those
 * outside. */
static void put_value(struct telling *t, struct codec_reader *r)
{
    if (t->count++)
        buf_append_byte(t->out, ',');
    switch (codec_peek(r)) {
    case CODEC_BOOL:
        buf_append_str(t->out, codec_get_bool(r) ? "true" : "false");
        break;
    case CODEC_UINT:
        buf_printf(t->out, "%llu", (unsigned long long)codec_get_u64(r));
        break;
    case CODEC_INT:
        buf_printf(t->out, "%lld", (long long)codec_get_i64(r));
        break;
    case CODEC_STR:
    case CODEC_BIN: put_text(t, codec_get_bytes(r)); break;
    case CODEC_NIL:
    case CODEC_FLOAT:
    case CODEC_ARRAY:
    case CODEC_MAP:
    case CODEC_BAD:
        buf_append_str(t->out, "null");
        codec_skip(r);
        break;
    }
}

void call_audit_values(struct slice body, struct slice *on, struct buf *out)
{
    struct codec_reader r = codec_reader_make(body);
    struct telling t = {.on = on, .out = out};
    *on = SLICE_EMPTY;
    buf_append_byte(out, '[');
    while (r.p < r.end && !r.bad && t.count < VALUES_MAX) {
        /* Descend into arrays: the fields of the message, and lists in it. */
        if (codec_peek(&r) == CODEC_ARRAY)
            (void)codec_get_array(&r);
        else
            put_value(&t, &r);
    }
    if (r.p < r.end)
        buf_append_str(out, t.count ? ",\"...\"" : "\"...\"");
    buf_append_byte(out, ']');
}

void call_audit(struct world *w,
                const char *method,
                const struct rpc_call *call,
                int code,
                const struct err *err)
{
    struct buf args = BUF_INIT;
    struct audit_event e = {.who = call->principal,
                            .from = call->peer,
                            .what = slice_str(method),
                            .code = code};
    if (!world_is_audited(w))
        return;
    if (!slice_eq(call->actor, call->principal))
        e.by = call->actor;
    if (code && err)
        e.why = slice_str(err->text);
    call_audit_values(call->body, &e.on, &args);
    e.args = buf_slice(&args);
    audit_note(w, &e);
    buf_close(&args);
}

/* Coding and handling of the calls about spans. Anybody may ask for spans, as
 * for the other texts about a process; settings are changed by members of the
 * cluster. */
#include "cli/span_calls.h"

#include "base/core/buf.h"
#include "base/rpc/codec.h"
#include "base/rpc/rpc.h"
#include "base/rpc/rpc_message.h"
#include "base/runtime/log.h"

void span_query_put(const struct span_query *q, struct buf *out)
{
    codec_put_array(out, 4);
    codec_put_u64(out, q->trace.high);
    codec_put_u64(out, q->trace.low);
    codec_put_u64(out, q->min_us);
    codec_put_u64(out, q->calls);
}

int span_query_get(struct slice in, struct span_query *q, struct err *err)
{
    struct message_reader m = message_begin(in, 4);
    *q = (struct span_query){.min_us = 0};
    q->trace.high = codec_get_u64(&m.r);
    q->trace.low = codec_get_u64(&m.r);
    q->min_us = codec_get_u64(&m.r);
    q->calls = codec_get_u64(&m.r) != 0;
    return message_end(&m, "query of spans", err);
}

void span_answer_put(bool all, struct buf *out)
{
    codec_put_array(out, 1);
    codec_put_u64(out, all);
}

int span_answer_get(struct slice in, bool *all, struct err *err)
{
    struct message_reader m = message_begin(in, 1);
    *all = codec_get_u64(&m.r) != 0;
    return message_end(&m, "answer about spans", err);
}

void trace_settings_put(const struct trace_settings *s, struct buf *out)
{
    codec_put_array(out, 2);
    codec_put_u64(out, s->one_in);
    codec_put_u64(out, s->slow_us);
}

int trace_settings_get(struct slice in,
                       struct trace_settings *s,
                       struct err *err)
{
    struct message_reader m = message_begin(in, 2);
    s->one_in = codec_get_u64(&m.r);
    s->slow_us = codec_get_u64(&m.r);
    return message_end(&m, "settings of traces", err);
}

int span_calls_query(void *ctx, struct rpc_call *call, struct err *err)
{
    struct span_query q;
    int rc = span_query_get(call->body, &q, err);
    log_debug(tracer_world(ctx), "trace", "spans are asked for by=%.*s code=%d",
              SLICE_ARG(call->principal), rc);
    if (rc == 0)
        span_answer_put(tracer_query(ctx, &q, SPAN_ANSWER_BYTES_MAX,
                                     call->reply_attachment),
                        call->reply_body);
    return rc;
}

int span_calls_settings(void *ctx, struct rpc_call *call, struct err *err)
{
    struct trace_settings now = tracer_settings(ctx);
    struct trace_settings s;
    int rc = trace_settings_get(call->body, &s, err);
    if (rc)
        return rc;
    if (s.one_in != TRACE_SETTING_KEPT)
        now.one_in = s.one_in;
    if (s.slow_us != TRACE_SETTING_KEPT)
        now.slow_us = s.slow_us;
    call->is_audited =
        s.one_in != TRACE_SETTING_KEPT || s.slow_us != TRACE_SETTING_KEPT;
    if (call->is_audited)
        log_info(tracer_world(ctx), "server",
                 "trace settings one_in=%llu slow_us=%llu",
                 (unsigned long long)now.one_in,
                 (unsigned long long)now.slow_us);
    tracer_set(ctx, &now);
    now = tracer_settings(ctx);
    trace_settings_put(&now, call->reply_body);
    return 0;
}

/* The fibers of calls: one for each, or one for several that came together. A
 * handler that runs for several calls answers each of them.
 */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "bigtable/gateway/grpc_connection.h"

/* The largest call that may join a group, and the most bytes of a group. */
#define TOGETHER_CALL_BYTES_MAX ((size_t)16 << 10)
#define TOGETHER_BYTES_MAX      ((size_t)256 << 10)

/* Calls of one method, complete, that one fiber will handle. */
struct grpc_crowd {
    size_t count;
    size_t bytes;
    struct grpc_call *calls[GRPC_TOGETHER_MAX];
};

/* --- the end of a call --------------------------------------------------- */

/* Its status is known: the session sends it, if somebody waits for it. */
static void grpc_run_finish(struct grpc_call *call)
{
    call->finished = true;
    if (UNLIKELY(call->code != GRPC_OK))
        grpc_audit_refusal(call);
    grpc_meter_call(call);
    if (call->abandoned)
        return; /* INV-5 */
    INVARIANT(call->holders & GRPC_HOLDER_SESSION);
    if (call->responded)
        grpc_connection_resume(call);
    else
        grpc_reply_status(call);
    grpc_connection_kick(call->connection);
}

/* Its connection may go with it, and the server. */
static void grpc_run_end(struct grpc_call *call)
{
    call->fiber = NULL;
    call->together = false;
    grpc_run_finish(call);
    grpc_call_release(call, GRPC_HOLDER_FIBER);
}

/* --- one by itself ------------------------------------------------------- */

static int grpc_run_handle(struct grpc_call *call, struct err *err)
{
    const struct grpc_options *o = &call->server->options;
    void *ctx = o->ctx;
    int rc;
    if (!o->enter || !*call->principal)
        return call->method->handle(ctx, call, err);
    rc = o->enter(o->ctx, call->principal, &ctx, err);
    if (rc)
        return rc;
    rc = call->method->handle(ctx, call, err);
    o->leave(o->ctx, ctx);
    return rc;
}

/* "/package.Service/Method", without the slash. */
static const char *grpc_run_name(const struct grpc_call *call)
{
    return call->method ? call->method->path + 1 : "gRPC";
}

/* Begin the span of @call, a child of that which its traceparent names. */
static void grpc_run_trace(struct grpc_call *call, struct span *span)
{
    struct trace_context caller = {.trace = call->trace.trace,
                                   .span_id = call->trace.span_id,
                                   .sampled = call->trace.sampled};
    span_begin_root(span, call->server->world, SPAN_SERVER, grpc_run_name(call),
                    &caller, 0);
    span->peer = stream_peer(call->connection->io);
    call->trace.trace = span->self.trace;
    if (span->self.span_id)
        call->trace.span_id = span->self.span_id;
    call->trace.sampled = span->self.sampled;
}

static void
grpc_run_trace_end(const struct grpc_call *call, struct span *span, int rc)
{
    span_text(span, "principal", slice_str(call->principal));
    span_number(span, "request_bytes", (int64_t)call->message_len);
    span_text(span, "tracestate", slice_str(call->trace_state));
    span_end(span, rc);
}

static void describe_call(struct grpc_call *call)
{
    const struct grpc_options *o = &call->server->options;
    if (o->describe && call->method->handle)
        o->describe(o->ctx, call);
}

static void run_call(void *arg)
{
    struct grpc_call *call = arg;
    struct grpc_server *server = call->server;
    struct err err = ERR_INIT;
    struct span span;
    int rc;
    grpc_run_trace(call, &span);
    if (call->timeout_ns)
        fiber_set_deadline(world_mono_ns(server->world) + call->timeout_ns);
    rc = fiber_check(&err);
    if (rc == 0)
        rc = grpc_call_uncompress(call, &err);
    if (rc == 0)
        describe_call(call);
    if (rc == 0)
        rc = grpc_run_handle(call, &err);
    grpc_run_trace_end(call, &span, rc);
    grpc_call_set_status(call, rc, &err);
    grpc_run_end(call);
}

static void start_alone(struct grpc_call *call)
{
    call->fiber = fiber_start(call->server->loop, "grpc call", run_call, call);
    fiber_detach(call->fiber);
}

/* --- several together ---------------------------------------------------- */

/* Is @call, which begins now, to be handled? If not, its status is set. */
static bool grpc_run_begin(struct grpc_call *call, uint64_t now_ns)
{
    struct err err = ERR_INIT;
    int rc;
    if (call->timeout_ns)
        call->until_ns = now_ns + call->timeout_ns;
    rc = grpc_call_check(call, &err);
    grpc_call_set_status(call, rc, &err);
    return rc == 0;
}

/* The fiber has no deadline: it is not that of one of them. */
static void run_crowd(void *arg)
{
    struct grpc_crowd *crowd = arg;
    const struct grpc_server *server = crowd->calls[0]->server;
    uint64_t now = world_mono_ns(server->world);
    struct grpc_call *good[GRPC_TOGETHER_MAX];
    size_t count = 0;
    for (size_t i = 0; i < crowd->count; i++)
        if (grpc_run_begin(crowd->calls[i], now))
            good[count++] = crowd->calls[i];
    if (count) {
        struct trace_context caller = {.span_id = 0};
        struct span span;
        span_begin_root(&span, server->world, SPAN_SERVER,
                        grpc_run_name(good[0]), &caller, 0);
        span_number(&span, "calls_together", (int64_t)count);
        for (size_t i = 0; i < count; i++)
            describe_call(good[i]);
        server->options.handle_many(server->options.ctx, good, count);
        span_end(&span, 0);
    }
    for (size_t i = 0; i < crowd->count; i++)
        grpc_run_end(crowd->calls[i]);
    mem_free(crowd);
}

void grpc_crowd_start(struct grpc_connection *c)
{
    struct grpc_crowd *crowd = c->crowd;
    struct fiber *f;
    if (!crowd || crowd->count == 0)
        return;
    if (crowd->count == 1) {
        crowd->calls[0]->together = false;
        crowd->count = crowd->bytes = 0;
        if (crowd->calls[0]->abandoned)
            grpc_call_release(crowd->calls[0], GRPC_HOLDER_FIBER);
        else
            start_alone(crowd->calls[0]);
        return;
    }
    c->crowd = NULL;
    f = fiber_start(c->server->loop, "grpc calls", run_crowd, crowd);
    for (size_t i = 0; i < crowd->count; i++)
        crowd->calls[i]->fiber = f;
    fiber_detach(f);
}

void grpc_crowd_free(struct grpc_crowd *crowd)
{
    PRE(!crowd || crowd->count == 0);
    mem_free(crowd);
}

static bool goes_together(const struct grpc_call *call)
{
    return call->method->handle == call->server->options.together &&
           !call->gzip && call->message_len <= TOGETHER_CALL_BYTES_MAX &&
           !call->has_trace; /* Its span is its own. */
}

static void add_to_crowd(struct grpc_connection *c, struct grpc_call *call)
{
    struct grpc_crowd *crowd = c->crowd;
    if (crowd && crowd->count &&
        (crowd->count == GRPC_TOGETHER_MAX ||
         crowd->bytes + call->message_len > TOGETHER_BYTES_MAX))
        grpc_crowd_start(c);
    if (!c->crowd) {
        c->crowd = mem_alloc(sizeof(*c->crowd));
        c->crowd->count = c->crowd->bytes = 0;
    }
    call->together = true;
    c->crowd->calls[c->crowd->count++] = call;
    c->crowd->bytes += call->message_len;
}

void grpc_call_start(struct grpc_call *call)
{
    grpc_call_hold(call, GRPC_HOLDER_FIBER);
    if (goes_together(call))
        add_to_crowd(call->connection, call);
    else
        start_alone(call);
}

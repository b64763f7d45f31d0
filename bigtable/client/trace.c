/* The trace of an application's calls: the context of its thread or fiber,
 * which the calls that it makes find there. */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/trace/span.h"
#include "bigtable/quarry.h"

struct client_trace {
    struct trace_context self;
    void *outer;
};

STATIC_ASSERT(sizeof(struct client_trace) <= sizeof(struct quarry_trace),
              "the application's memory is large enough");

static struct client_trace *client_trace(struct quarry_trace *t)
{
    return (struct client_trace *)(void *)t->opaque;
}

int quarry_trace_begin(struct quarry_trace *t,
                       const char *traceparent,
                       struct err *err)
{
    struct client_trace *c = client_trace(t);
    struct traceparent p;
    if (!traceparent_parse(slice_str(traceparent), &p))
        return err_set(err, ERR_INVALID,
                       "'%.60s' is no traceparent of W3C's Trace Context",
                       traceparent);
    *c = (struct client_trace){
        .self = {.trace = p.trace, .span_id = p.span_id, .sampled = p.sampled}};
    c->outer = fiber_set_context(&c->self);
    return 0;
}

void quarry_trace_end(struct quarry_trace *t)
{
    struct client_trace *c = client_trace(t);
    void *mine = fiber_set_context(c->outer);
    PRE(mine == &c->self);
}

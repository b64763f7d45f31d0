/* Spans of sampled calls, in a ring under a mutex: only sampled calls take
 * it, so that it costs the others nothing but a counter. */
#include "base/rpc/call_trace.h"

#include <stdatomic.h>
#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

#define PEER_BYTES 64

struct span {
    struct call_context self;
    uint32_t parent_id;
    uint32_t method;
    bool is_server;
    int status;
    uint64_t start_us;
    uint64_t duration_us;
    char peer[PEER_BYTES];
};

struct call_trace {
    struct world *world;
    uint64_t one_in;
    atomic_uint_fast64_t root_count; /* Root calls seen. */
    struct mutex mutex;              /* Guards the ring. */
    struct span *spans;              /* Owned. */
    size_t cap;
    uint64_t count; /* Ever recorded. */
};

struct call_trace *
call_trace_new(struct world *w, size_t span_count, uint64_t one_in)
{
    struct call_trace *t = mem_zalloc(1, sizeof(*t));
    PRE(span_count > 0);
    t->world = w;
    t->one_in = one_in;
    t->cap = span_count;
    t->spans = mem_zalloc(span_count, sizeof(*t->spans));
    atomic_init(&t->root_count, 0);
    mutex_init(&t->mutex);
    return t;
}

void call_trace_free(struct call_trace *t)
{
    if (!t)
        return;
    mutex_close(&t->mutex);
    mem_free(t->spans);
    mem_free(t);
}

/* --- spans --------------------------------------------------------------- */

static uint64_t nonzero_random(struct world *w)
{
    return world_random(w) | 1;
}

static bool is_turn(struct call_trace *t)
{
    return t && t->one_in &&
           atomic_fetch_add_explicit(&t->root_count, 1, memory_order_relaxed) %
                   t->one_in ==
               0;
}

static void
call_span_start(struct call_span *s, struct call_trace *t, struct world *w)
{
    s->trace = t;
    if (!s->self.sampled)
        return;
    s->self.span_id = (uint32_t)nonzero_random(w);
    s->start_us = world_now_us(w);
    s->start_ns = world_mono_ns(w);
}

void call_span_begin(struct call_span *s,
                     struct call_trace *t,
                     struct world *w,
                     uint64_t trace_id,
                     struct call_context *context)
{
    const struct call_context *outer = fiber_context();
    *s = (struct call_span){.trace = t};
    if (outer) {
        s->self = *outer;
        s->parent_id = outer->span_id;
    } else if (trace_id == 0 && is_turn(t)) {
        s->self.trace_id = nonzero_random(w);
        s->self.sampled = true;
    }
    if (trace_id)
        s->self.trace_id = trace_id;
    call_span_start(s, t, w);
    *context = s->self;
}

void call_span_serve(struct call_span *s,
                     struct call_trace *t,
                     struct world *w,
                     const struct call_context *caller,
                     struct call_context *context)
{
    *s = (struct call_span){
        .self = *caller, .parent_id = caller->span_id, .is_server = true};
    call_span_start(s, t, w);
    *context = s->self;
}

void call_span_end(struct call_span *s,
                   uint32_t method,
                   const char *peer,
                   int status)
{
    struct call_trace *t = s->trace;
    struct span *to;
    if (!t || !s->self.sampled)
        return;
    mutex_lock(&t->mutex);
    to = &t->spans[t->count++ % t->cap];
    *to = (struct span){.self = s->self,
                        .parent_id = s->parent_id,
                        .method = method,
                        .is_server = s->is_server,
                        .status = status,
                        .start_us = s->start_us};
    to->duration_us = (world_mono_ns(t->world) - s->start_ns) / 1000;
    snprintf(to->peer, sizeof(to->peer), "%.*s", PEER_BYTES - 1, peer);
    mutex_unlock(&t->mutex);
}

uint64_t call_trace_request(void)
{
    const struct call_context *c = fiber_context();
    return c ? c->trace_id : 0;
}

/* --- printing ------------------------------------------------------------ */

static void print_span(const struct span *s, struct buf *out)
{
    buf_printf(out, "%016llx %08x<%08x %s %u %s ",
               (unsigned long long)s->self.trace_id, s->self.span_id,
               s->parent_id, s->is_server ? "server" : "client", s->method,
               s->peer);
    text_put_time(out, (int64_t)s->start_us);
    buf_append_byte(out, ' ');
    text_put_duration(out, s->duration_us);
    buf_printf(out, " %s\n", s->status ? err_name(s->status) : "ok");
}

void call_trace_print(struct call_trace *t, uint64_t trace_id, struct buf *out)
{
    uint64_t first;
    mutex_lock(&t->mutex);
    first = t->count > t->cap ? t->count - t->cap : 0;
    for (uint64_t i = first; i < t->count; i++) {
        const struct span *s = &t->spans[i % t->cap];
        if (trace_id == 0 || s->self.trace_id == trace_id)
            print_span(s, out);
    }
    mutex_unlock(&t->mutex);
}

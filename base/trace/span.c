/* Spans of the running work. An unsampled call costs the reading of two clocks
 * and two random numbers: attributes and parts are stored in the span itself or
 * when a part was long, and nothing is encoded or locked before a span is known
 * to be kept. */
#include "base/trace/span.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "base/trace/tracer.h"

/* Parts that one unsampled call collects. */
#define PARTS_COUNT_MAX 64
/* See the rule in span.h. */
#define NESTED_DIVISOR 10
#define PART_DIVISOR   100

struct span *span_here(void)
{
    struct trace_context *c = fiber_context();
    return c && c->is_span ? (struct span *)(void *)c : NULL;
}

void trace_copy_context(struct trace_context *out)
{
    const struct trace_context *c = fiber_context();
    *out = c ? *c : (struct trace_context){.span_id = 0};
    out->is_span = false;
    out->parts = NULL;
}

void trace_use_context(struct trace_context *c)
{
    (void)fiber_set_context(trace_id_is_set(c->trace) ? c : NULL);
}

size_t trace_request_text(char *out)
{
    const struct trace_context *c = fiber_context();
    if (!c || !trace_id_is_set(c->trace))
        return 0;
    trace_id_print(c->trace, out);
    return TRACE_ID_TEXT_BYTES - 1;
}

/* --- beginning ----------------------------------------------------------- */

static uint64_t nonzero_random(struct world *w)
{
    return world_random(w) | 1;
}

/* Everything but the attributes' memory. */
static void span_init(struct span *s, enum span_kind kind, const char *name)
{
    s->self = (struct trace_context){.is_span = true};
    s->outer = NULL;
    s->is_current = false;
    s->owns_parts = false;
    s->flags = 0;
    s->kind = kind;
    s->parent = 0;
    s->name = name;
    s->peer = NULL;
    s->attribute_count = 0;
    s->room_used = 0;
}

static void span_start(struct span *s)
{
    struct world *w = tracer_world(s->self.tracer);
    s->self.span_id = nonzero_random(w);
    s->start_ns = world_mono_ns(w);
}

static void span_enter(struct span *s)
{
    s->outer = fiber_set_context(&s->self);
    s->is_current = true;
}

static void span_follow(struct span *s, const struct trace_context *outer)
{
    s->self = *outer;
    s->self.is_span = true;
    s->parent = outer->span_id;
}

void span_begin(struct span *s, const char *name)
{
    const struct trace_context *outer = fiber_context();
    if (!outer || !outer->tracer) {
        s->self.tracer = NULL;
        s->is_current = false;
        return;
    }
    span_init(s, SPAN_INTERNAL, name);
    span_follow(s, outer);
    span_start(s);
    span_enter(s);
}

static void begin_trace(struct span *s, struct world *w)
{
    s->self.trace.high = world_random(w);
    s->self.trace.low = nonzero_random(w);
    if (s->self.tracer)
        s->self.sampled = tracer_samples(s->self.tracer);
}

void span_begin_call(struct span *s,
                     struct world *w,
                     const char *name,
                     const char *peer)
{
    const struct trace_context *outer = fiber_context();
    span_init(s, SPAN_CLIENT, name);
    s->peer = peer;
    if (outer) {
        span_follow(s, outer);
    } else {
        s->self.tracer = world_tracer(w);
        begin_trace(s, w);
    }
    if (s->self.tracer)
        span_start(s);
}

void span_begin_root(struct span *s,
                     struct world *w,
                     enum span_kind kind,
                     const char *name,
                     const struct trace_context *caller)
{
    span_init(s, kind, name);
    s->self.tracer = world_tracer(w);
    s->self.trace = caller->trace;
    s->self.sampled = caller->sampled;
    s->parent = caller->span_id;
    if (!trace_id_is_set(caller->trace))
        begin_trace(s, w);
    else if (caller->span_id == 0 && !caller->sampled && s->self.tracer)
        s->self.sampled = tracer_samples(s->self.tracer);
    if (s->self.tracer) {
        s->owns_parts = !s->self.sampled;
        if (s->owns_parts) {
            s->own = (struct span_parts){.count = 0};
            mutex_init(&s->own.mutex);
            s->self.parts = &s->own;
        }
        span_start(s);
    }
    span_enter(s);
}

/* --- attributes ---------------------------------------------------------- */

static struct span_attribute *new_attribute(struct span *s, const char *key)
{
    struct span_attribute *a;
    if (s->attribute_count == SPAN_ATTRIBUTES_MAX)
        return NULL;
    a = &s->attributes[s->attribute_count++];
    *a = (struct span_attribute){.key = key, .key_bytes = (uint8_t)strlen(key)};
    return a;
}

/* The attribute of @key, or a new one: a span that is noted several times keeps
 * the sum. */
void span_add_number(struct span *s, const char *key, int64_t value)
{
    struct span_attribute *a = NULL;
    for (unsigned i = 0; i < s->attribute_count && !a; i++)
        if (strcmp(s->attributes[i].key, key) == 0 && !s->attributes[i].is_text)
            a = &s->attributes[i];
    if (!a)
        a = new_attribute(s, key);
    if (a)
        a->number += value;
}

void span_add_text(struct span *s, const char *key, struct slice text)
{
    size_t len = MIN_OF(text.len, (size_t)SPAN_ROOM_BYTES - s->room_used);
    struct span_attribute *a = len ? new_attribute(s, key) : NULL;
    if (!a)
        return;
    memcpy(s->room + s->room_used, text.data, len);
    a->is_text = true;
    a->text = slice_make(s->room + s->room_used, len);
    s->room_used += (unsigned)len;
}

uint64_t span_clock(const struct span *s)
{
    return span_is_recorded(s) ? world_mono_ns(tracer_world(s->self.tracer))
                               : 0;
}

void span_elapsed(struct span *s, const char *key, uint64_t since_ns)
{
    if (span_is_recorded(s))
        span_add_number(s, key, (int64_t)(span_clock(s) - since_ns) / 1000);
}

/* --- ending -------------------------------------------------------------- */

static void
span_encode(const struct span *s, uint64_t end_ns, int status, struct buf *out)
{
    struct span_record r = {.trace = s->self.trace,
                            .id = s->self.span_id,
                            .parent = s->parent,
                            .kind = s->kind,
                            .flags = s->flags,
                            .status = status,
                            .duration_us = (end_ns - s->start_ns) / 1000,
                            .name = slice_str(s->name),
                            .peer = slice_str(s->peer ? s->peer : ""),
                            .attribute_count = s->attribute_count};
    uint64_t now_us = world_now_us(tracer_world(s->self.tracer));
    r.start_us = now_us > r.duration_us ? now_us - r.duration_us : 0;
    memcpy(r.attributes, s->attributes,
           s->attribute_count * sizeof(*s->attributes));
    span_record_put(&r, out);
}

static void
span_keep(struct span *s, uint64_t end_ns, int status, enum span_flags why)
{
    struct buf bytes = BUF_INIT;
    s->flags |= (uint8_t)why;
    span_encode(s, end_ns, status, &bytes);
    tracer_keep(s->self.tracer, buf_slice(&bytes), 1);
    buf_close(&bytes);
}

/* Store it until the call that it is a part of ends. */
static void span_collect(struct span *s, uint64_t end_ns, int status)
{
    struct span_parts *p = s->self.parts;
    s->flags |= SPAN_SLOW;
    mutex_lock(&p->mutex);
    if (p->count < PARTS_COUNT_MAX) {
        span_encode(s, end_ns, status, &p->spans);
        p->count++;
    } else {
        p->left_out++;
    }
    mutex_unlock(&p->mutex);
}

/* The end of a call that was not sampled. */
static void
span_settle(struct span *s, uint64_t end_ns, uint64_t slow_ns, int status)
{
    uint64_t least_ns = s->parent ? slow_ns / NESTED_DIVISOR : slow_ns;
    bool is_slow =
        slow_ns && !(s->flags & SPAN_WAITS) && end_ns - s->start_ns >= least_ns;
    if (is_slow) {
        span_keep(s, end_ns, status, SPAN_SLOW);
        tracer_keep(s->self.tracer, buf_slice(&s->own.spans), s->own.count);
        tracer_count_left_out(s->self.tracer, s->own.left_out);
    }
    buf_close(&s->own.spans);
    mutex_close(&s->own.mutex);
}

static void span_leave(struct span *s)
{
    void *mine = fiber_set_context(s->outer);
    PRE(mine == &s->self);
    s->is_current = false;
}

void span_end(struct span *s, int status)
{
    struct tracer *t = s->self.tracer;
    uint64_t end_ns;
    uint64_t slow_ns;
    if (s->is_current)
        span_leave(s);
    if (!t)
        return;
    end_ns = world_mono_ns(tracer_world(t));
    slow_ns = tracer_settings(t).slow_us * 1000;
    if (s->self.sampled)
        span_keep(s, end_ns, status, SPAN_SAMPLED);
    else if (s->owns_parts)
        span_settle(s, end_ns, slow_ns, status);
    else if (s->self.parts && slow_ns &&
             end_ns - s->start_ns >= slow_ns / PART_DIVISOR)
        span_collect(s, end_ns, status);
    else if (!s->self.parts && s->parent && slow_ns &&
             end_ns - s->start_ns >= slow_ns / NESTED_DIVISOR)
        span_keep(s, end_ns, status, SPAN_SLOW);
}

void span_note(const char *name, uint64_t start_ns, int status)
{
    struct span s;
    span_begin(&s, name);
    s.start_ns = start_ns;
    span_end(&s, status);
}

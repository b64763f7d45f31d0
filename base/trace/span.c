/* Spans of the running work. Most are not kept, and those are cheap: ids come
 * from a generator of the thread, who has read the clock gives the time, a call
 * that begins an unsampled trace reads none, and attributes and parts are
 * stored in the span itself or when a part was long. Nothing is encoded or
 * locked before a span is known to be kept. */
#include "base/trace/span.h"

#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "base/trace/tracer.h"

/* Parts that one unsampled call collects. */
#define PARTS_COUNT_MAX 64

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
    s->limit_ns = UINT64_MAX;
    s->name = name;
    s->peer = NULL;
    s->attribute_count = 0;
    s->room_used = 0;
}

/* @now_ns: 0 if nobody has read the clock. */
static void span_start(struct span *s, enum trace_limit limit, uint64_t now_ns)
{
    struct tracer *t = s->self.tracer;
    s->self.span_id = tracer_draw(t, limit, &s->limit_ns);
    if (s->self.sampled)
        s->limit_ns = 0;
    s->start_ns = now_ns ? now_ns : world_mono_ns(tracer_world(t));
}

/* Of what is enclosed by a call. */
static enum trace_limit part_limit(const struct span *s)
{
    if (s->self.parts)
        return TRACE_LIMIT_PART;
    return s->parent ? TRACE_LIMIT_NESTED : TRACE_LIMIT_NONE;
}

void span_set_waits(struct span *s)
{
    s->flags |= SPAN_WAITS;
    if (!s->self.sampled)
        s->limit_ns = UINT64_MAX;
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
    span_start(s, part_limit(s), 0);
    span_enter(s);
}

/* A new trace, with its id, that may be sampled; returns the id of a first
 * span. */
static uint64_t begin_trace(struct trace_context *c, struct world *w)
{
    struct tracer *t = c->tracer;
    uint64_t limit;
    c->trace.high =
        t ? tracer_draw(t, TRACE_LIMIT_NONE, &limit) : world_random(w);
    c->trace.low = hash_mix(c->trace.high) | 1;
    c->sampled = c->sampled || (t && tracer_samples(t, c->trace));
    return t ? hash_mix(c->trace.low) | 1 : 0;
}

void span_begin_call(struct span *s,
                     struct world *w,
                     const char *name,
                     const char *peer,
                     uint64_t now_ns)
{
    const struct trace_context *outer = fiber_context();
    struct trace_context first = {.tracer = outer ? NULL : world_tracer(w)};
    if (!outer) {
        first.span_id = begin_trace(&first, w);
        if (!first.sampled) {
            /* Nothing encloses it: however long it takes, it is not kept. Its
             * server keeps its part. */
            s->self = first;
            s->self.tracer = NULL;
            s->is_current = false;
            return;
        }
        outer = &first;
    }
    span_init(s, SPAN_CLIENT, name);
    s->peer = peer;
    span_follow(s, outer);
    if (outer == &first)
        s->parent = 0;
    if (s->self.tracer)
        span_start(s, part_limit(s), now_ns);
}

void span_begin_root(struct span *s,
                     struct world *w,
                     enum span_kind kind,
                     const char *name,
                     const struct trace_context *caller,
                     uint64_t now_ns)
{
    span_init(s, kind, name);
    s->self.tracer = world_tracer(w);
    s->self.trace = caller->trace;
    s->self.sampled = caller->sampled;
    s->parent = caller->span_id;
    if (!trace_id_is_set(caller->trace))
        (void)begin_trace(&s->self, w);
    else if (caller->span_id == 0 && !caller->sampled && s->self.tracer)
        s->self.sampled = tracer_samples(s->self.tracer, caller->trace);
    if (s->self.tracer) {
        s->owns_parts = !s->self.sampled;
        if (s->owns_parts) {
            s->own = (struct span_parts){.count = 0};
            mutex_init(&s->own.mutex);
            s->self.parts = &s->own;
        }
        span_start(s, s->parent ? TRACE_LIMIT_NESTED : TRACE_LIMIT_CALL,
                   now_ns);
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
    *a = (struct span_attribute){.key = key};
    return a;
}

/* Most keys differ in their first letter. */
static bool has_key(const struct span_attribute *a, const char *key)
{
    return a->key == key || (*a->key == *key && strcmp(a->key, key) == 0);
}

/* The attribute of @key, or a new one: a span that is noted several times keeps
 * the sum. */
void span_add_number(struct span *s, const char *key, int64_t value)
{
    struct span_attribute *a = NULL;
    for (unsigned i = 0; i < s->attribute_count && !a; i++)
        if (has_key(&s->attributes[i], key) && !s->attributes[i].is_text)
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
    for (unsigned i = 0; i < s->attribute_count; i++) {
        r.attributes[i] = s->attributes[i];
        r.attributes[i].key_bytes = (uint8_t)strlen(s->attributes[i].key);
    }
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

static void span_close_parts(struct span *s)
{
    if (s->own.spans.cap)
        buf_close(&s->own.spans);
    mutex_close(&s->own.mutex);
}

/* It is due. */
static void span_store(struct span *s, uint64_t end_ns, int status)
{
    struct tracer *t = s->self.tracer;
    if (s->self.parts && !s->owns_parts) {
        span_collect(s, end_ns, status);
        return;
    }
    span_keep(s, end_ns, status, s->self.sampled ? SPAN_SAMPLED : SPAN_SLOW);
    if (s->owns_parts) {
        tracer_keep(t, buf_slice(&s->own.spans), s->own.count);
        tracer_count_left_out(t, s->own.left_out);
    }
}

static void span_leave(struct span *s)
{
    void *mine = fiber_set_context(s->outer);
    PRE(mine == &s->self);
    s->is_current = false;
}

void span_end_begun(struct span *s, uint64_t end_ns, int status)
{
    if (s->is_current)
        span_leave(s);
    if (UNLIKELY(span_is_due(s, end_ns)))
        span_store(s, end_ns, status);
    if (s->self.tracer && s->owns_parts)
        span_close_parts(s);
}

void span_end(struct span *s, int status)
{
    span_end_at(s, span_clock(s), status);
}

void span_note(const char *name, uint64_t start_ns, int status)
{
    struct span s;
    span_begin(&s, name);
    s.start_ns = start_ns;
    span_end(&s, status);
}

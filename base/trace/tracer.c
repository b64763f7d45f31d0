/* Kept spans: a list, oldest first, under a mutex that only spans that are kept
 * take. They stay encoded, so that a bound in bytes is exact. */
#include "base/trace/tracer.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/metrics/metrics.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/runtime/world_ops.h"
#include "base/trace/span_record.h"

/* See the rule in span.h. */
#define NESTED_DIVISOR 10
#define PART_DIVISOR   100

/* Memory of a kept span beside its bytes. */
#define KEPT_OVERHEAD_BYTES 32

struct kept_span {
    struct kept_span *newer;
    struct kept_span *older;
    size_t bytes;
    char data[];
};

/* Ids are drawn for every call: each thread has a generator, which the world
 * seeds. */
struct id_source {
    uint64_t serial; /* Of the tracer that it is for; 0: none. */
    uint64_t state;
};

#define ID_STEP UINT64_C(0x9e3779b97f4a7c15) /* As world_random()'s. */

static _Thread_local struct id_source id_source;
static atomic_uint_fast64_t tracer_serials;

struct tracer {
    struct world *world;
    uint64_t serial; /* Unlike that of any other, from 1 on. */
    atomic_uint_fast64_t one_in;
    atomic_uint_fast64_t slow_us;
    atomic_uint_fast64_t sampled_max; /* UINT64_MAX / one_in; 0: none. */
    atomic_uint_fast64_t limit_ns[TRACE_LIMIT_COUNT];
    struct mutex mutex; /* Guards the list. */
    struct kept_span *oldest;
    struct kept_span *newest;
    size_t bytes;
    size_t bytes_max;
    tracer_sink sink; /* NULL: none. */
    const char *(*method_name)(uint32_t method);
    void *sink_ctx;
    struct metric_counter kept;
    struct metric_counter evicted;
    struct metric_counter left_out;
};

struct tracer *tracer_new(struct world *w, size_t bytes)
{
    static const struct trace_settings defaults = {TRACE_ONE_IN_DEFAULT,
                                                   TRACE_SLOW_US_DEFAULT};
    struct tracer *t = mem_zalloc(1, sizeof(*t));
    PRE(bytes >= SPAN_BYTES_MAX + KEPT_OVERHEAD_BYTES);
    t->world = w;
    t->serial = atomic_fetch_add(&tracer_serials, 1) + 1;
    t->bytes_max = bytes;
    tracer_set(t, &defaults);
    mutex_init(&t->mutex);
    return t;
}

static size_t kept_bytes(const struct kept_span *k)
{
    return k->bytes + KEPT_OVERHEAD_BYTES;
}

static void drop_oldest(struct tracer *t)
{
    struct kept_span *k = t->oldest;
    INVARIANT(k && t->bytes >= kept_bytes(k)); /* INV-1 */
    t->oldest = k->newer;
    if (t->oldest)
        t->oldest->older = NULL;
    else
        t->newest = NULL;
    t->bytes -= kept_bytes(k);
    mem_free(k);
}

void tracer_free(struct tracer *t)
{
    if (!t)
        return;
    while (t->oldest)
        drop_oldest(t);
    mutex_close(&t->mutex);
    mem_free(t);
}

struct tracer *world_tracer(const struct world *w)
{
    return w->tracer;
}

void world_set_tracer(struct world *w, struct tracer *t)
{
    w->tracer = t;
}

struct world *tracer_world(const struct tracer *t)
{
    return t->world;
}

static void store_setting(atomic_uint_fast64_t *at, uint64_t value)
{
    atomic_store_explicit(at, value, memory_order_relaxed);
}

void tracer_set_names(struct tracer *t, const char *(*name)(uint32_t method))
{
    t->method_name = name;
}

const char *tracer_method_name(const struct tracer *t, uint32_t method)
{
    const char *name = t->method_name ? t->method_name(method) : NULL;
    return name ? name : "call";
}

void tracer_set(struct tracer *t, const struct trace_settings *s)
{
    static const uint64_t divisors[TRACE_LIMIT_COUNT] = {
        [TRACE_LIMIT_CALL] = 1,
        [TRACE_LIMIT_NESTED] = NESTED_DIVISOR,
        [TRACE_LIMIT_PART] = PART_DIVISOR};
    uint64_t slow_us = s->slow_us && s->slow_us < TRACE_SLOW_US_MIN
                           ? TRACE_SLOW_US_MIN
                           : s->slow_us;
    /* A ratio that is shown as a number stays what it is. */
    if (s->one_in != tracer_settings(t).one_in)
        store_setting(&t->sampled_max, s->one_in ? UINT64_MAX / s->one_in : 0);
    store_setting(&t->one_in, s->one_in);
    store_setting(&t->slow_us, slow_us);
    for (int i = 0; i < TRACE_LIMIT_COUNT; i++)
        store_setting(&t->limit_ns[i], slow_us && divisors[i]
                                           ? slow_us * 1000 / divisors[i]
                                           : UINT64_MAX);
}

void tracer_set_ratio(struct tracer *t, double ratio)
{
    bool all = ratio >= 1;
    PRE(ratio >= 0);
    store_setting(&t->one_in, ratio > 0 ? (uint64_t)(1 / ratio + 0.5) : 0);
    store_setting(&t->sampled_max,
                  all ? UINT64_MAX : (uint64_t)(ratio * (double)UINT64_MAX));
}

struct trace_settings tracer_settings(const struct tracer *t)
{
    return (struct trace_settings){
        .one_in = atomic_load_explicit(&t->one_in, memory_order_relaxed),
        .slow_us = atomic_load_explicit(&t->slow_us, memory_order_relaxed)};
}

/* Apart, so that drawing saves no registers for it. */
static NOINLINE void id_source_seed(const struct tracer *t)
{
    id_source = (struct id_source){t->serial, world_random(t->world)};
}

uint64_t
tracer_draw(const struct tracer *t, enum trace_limit limit, uint64_t *limit_ns)
{
    *limit_ns = atomic_load_explicit(&t->limit_ns[limit], memory_order_relaxed);
    if (UNLIKELY(id_source.serial != t->serial))
        id_source_seed(t);
    id_source.state += ID_STEP;
    return hash_mix(id_source.state) | 1;
}

/* The sum is as even as its halves, and ids of sampled traces look like all
 * others. */
bool tracer_samples(const struct tracer *t, struct trace_id id)
{
    uint64_t max = atomic_load_explicit(&t->sampled_max, memory_order_relaxed);
    return max && id.high + id.low <= max;
}

/* --- keeping ------------------------------------------------------------- */

static void keep_one(struct tracer *t, struct slice bytes)
{
    struct kept_span *k = mem_alloc(sizeof(*k) + bytes.len);
    PRE(bytes.len <= SPAN_BYTES_MAX);
    *k = (struct kept_span){.bytes = bytes.len};
    memcpy(k->data, bytes.data, bytes.len);
    mutex_lock(&t->mutex);
    while (t->bytes + kept_bytes(k) > t->bytes_max) {
        drop_oldest(t);
        metric_add(&t->evicted, 1);
    }
    k->older = t->newest;
    if (k->older)
        k->older->newer = k;
    else
        t->oldest = k;
    t->newest = k;
    t->bytes += kept_bytes(k);
    INVARIANT(t->bytes <= t->bytes_max); /* INV-1 */
    if (t->sink)
        t->sink(t->sink_ctx, bytes);
    mutex_unlock(&t->mutex);
}

void tracer_keep(struct tracer *t, struct slice bytes, unsigned count)
{
    struct slice rest = bytes;
    for (unsigned i = 0; i < count; i++) {
        struct span_record r;
        struct slice before = rest;
        int rc = span_record_get(&rest, &r, NULL);
        PRE(rc == 0);
        keep_one(t, slice_make(before.data, before.len - rest.len));
    }
    PRE(rest.len == 0);
    metric_add(&t->kept, count);
}

void tracer_record(struct tracer *t, const struct span_record *r)
{
    struct buf bytes = BUF_INIT;
    span_record_put(r, &bytes);
    tracer_keep(t, buf_slice(&bytes), 1);
    buf_close(&bytes);
}

void tracer_set_sink(struct tracer *t, tracer_sink take, void *ctx)
{
    mutex_lock(&t->mutex);
    t->sink = take;
    t->sink_ctx = ctx;
    mutex_unlock(&t->mutex);
}

void tracer_count_left_out(struct tracer *t, unsigned count)
{
    metric_add(&t->left_out, count);
}

/* --- what is kept -------------------------------------------------------- */

static struct slice kept_slice(const struct kept_span *k)
{
    return slice_make(k->data, k->bytes);
}

static bool span_matches(const struct kept_span *k, const struct span_query *q)
{
    struct slice in = kept_slice(k);
    struct span_record r;
    if (span_record_get(&in, &r, NULL))
        return false;
    if (trace_id_is_set(q->trace) && !trace_id_eq(q->trace, r.trace))
        return false;
    if (q->calls && (r.kind != SPAN_SERVER || (r.flags & SPAN_WAITS)))
        return false;
    return r.duration_us >= q->min_us;
}

bool tracer_query(struct tracer *t,
                  const struct span_query *q,
                  size_t bytes_max,
                  struct buf *out)
{
    size_t from = out->len;
    bool all = true;
    mutex_lock(&t->mutex);
    for (const struct kept_span *k = t->newest; k && all; k = k->older) {
        if (!span_matches(k, q))
            continue;
        all = out->len - from + k->bytes <= bytes_max;
        if (all)
            buf_append_slice(out, kept_slice(k));
    }
    mutex_unlock(&t->mutex);
    return all;
}

static void print_span(const struct kept_span *k, struct buf *out)
{
    struct slice in = kept_slice(k);
    struct span_record r;
    char trace[TRACE_ID_TEXT_BYTES];
    if (span_record_get(&in, &r, NULL))
        return;
    trace_id_print(r.trace, trace);
    buf_printf(out, "%s %016" PRIx64 "<%016" PRIx64 " %s %.*s %.*s ", trace,
               r.id, r.parent, span_kind_name(r.kind), SLICE_ARG(r.name),
               SLICE_ARG(r.peer.len ? r.peer : SLICE_LIT("-")));
    text_put_time(out, (int64_t)r.start_us);
    buf_append_byte(out, ' ');
    text_put_duration(out, r.duration_us);
    buf_printf(out, " %s\n", r.status ? err_name(r.status) : "ok");
}

void tracer_print(struct tracer *t, struct buf *out)
{
    mutex_lock(&t->mutex);
    for (const struct kept_span *k = t->oldest; k; k = k->newer)
        print_span(k, out);
    mutex_unlock(&t->mutex);
}

void tracer_gather(struct tracer *t, struct metric_set *out)
{
    size_t bytes;
    mutex_lock(&t->mutex);
    bytes = t->bytes;
    mutex_unlock(&t->mutex);
    metric_put_counter(out, METRIC_trace_spans, NULL, &t->kept);
    metric_put_counter(out, METRIC_trace_evicted_spans, NULL, &t->evicted);
    metric_put_counter(out, METRIC_trace_left_out_spans, NULL, &t->left_out);
    metric_put(out, METRIC_trace_bytes, NULL, (double)bytes);
}

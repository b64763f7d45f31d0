/* The queue and its thread. Spans wait in the form in which the tracer keeps
 * them, about a hundred bytes each, and are written as protocol buffers by the
 * thread that sends them. */
#include "base/otlp/otlp_exporter.h"

#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/metrics/metrics.h"
#include "base/otlp/otlp_message.h"
#include "base/otlp/otlp_post.h"
#include "base/otlp/otlp_settings.h"
#include "base/runtime/log.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span_record.h"
#include "base/trace/tracer.h"

#define QUEUE_BYTES_MAX  ((size_t)8 << 20)
#define PAUSE_MIN_US     UINT64_C(500000)
#define PAUSE_MAX_US     UINT64_C(16000000)
#define BATCH_US_MAX     UINT64_C(60000000) /* Tries of one batch. */
#define FOREVER_US       UINT64_C(3600000000)
#define NS_PER_US        1000
#define WHY_BYTES_SHOWN  200
#define GZIP_WINDOW_BITS (15 + 16) /* zlib: 16 more for gzip's frame. */
#define GZIP_MEMORY      8

struct queued_span {
    struct queued_span *next;
    size_t bytes;
    char data[];
};

struct otlp_exporter {
    struct world *world;
    struct tracer *tracer;
    struct otlp_settings settings;
    struct otlp_post *post;
    struct task *task;
    struct mutex mutex; /* Guards the queue and `closing`. */
    struct cond changed;
    struct queued_span *first;
    struct queued_span **last;
    size_t count;
    size_t bytes;
    uint64_t oldest_ns; /* When the first of them came. */
    bool closing;
    atomic_uint_fast64_t close_ns; /* When it must have ended; 0: not yet. */
    bool is_failing;               /* It was logged. */
    struct metric_counter sent;
    struct metric_counter dropped;
    struct metric_counter failures;
};

/* --- the queue ----------------------------------------------------------- */

static void exporter_take(void *ctx, struct slice span)
{
    struct otlp_exporter *x = ctx;
    struct queued_span *q = mem_alloc(sizeof(*q) + span.len);
    bool has_room;
    *q = (struct queued_span){.bytes = span.len};
    memcpy(q->data, span.data, span.len);
    mutex_lock(&x->mutex);
    has_room = x->count < x->settings.queue_max &&
               x->bytes + span.len <= QUEUE_BYTES_MAX;
    if (has_room) {
        if (x->count++ == 0)
            x->oldest_ns = world_mono_ns(x->world);
        x->bytes += span.len;
        *x->last = q;
        x->last = &q->next;
        if (x->count == 1 || x->count == x->settings.batch_max)
            cond_signal(&x->changed);
    }
    mutex_unlock(&x->mutex);
    if (!has_room) {
        metric_add(&x->dropped, 1);
        mem_free(q);
    }
}

/* Move the first spans, at most @max, to @out, encoded; how many. PRE: the
 * mutex is held. */
static size_t exporter_cut(struct otlp_exporter *x, size_t max, struct buf *out)
{
    size_t n = 0;
    for (; n < max && x->first; n++) {
        struct queued_span *q = x->first;
        buf_append(out, q->data, q->bytes);
        INVARIANT(x->count > 0 && x->bytes >= q->bytes); /* INV-1 */
        x->first = q->next;
        x->count--;
        x->bytes -= q->bytes;
        mem_free(q);
    }
    if (!x->first)
        x->last = &x->first;
    x->oldest_ns = world_mono_ns(x->world);
    return n;
}

/* How long the queue may wait for more; 0: it is to be sent. */
static uint64_t exporter_delay_us(const struct otlp_exporter *x)
{
    uint64_t waited_us = (world_mono_ns(x->world) - x->oldest_ns) / NS_PER_US;
    if (x->closing || x->count >= x->settings.batch_max)
        return 0;
    if (x->count == 0)
        return FOREVER_US;
    return waited_us < x->settings.delay_us ? x->settings.delay_us - waited_us
                                            : 0;
}

/* Wait for a batch; 0: there is none, and there will be none. */
static size_t exporter_await(struct otlp_exporter *x, struct buf *spans)
{
    uint64_t us;
    size_t n;
    mutex_lock(&x->mutex);
    while ((us = exporter_delay_us(x)) > 0)
        (void)cond_wait_us(&x->changed, &x->mutex, x->world, us);
    n = exporter_cut(x, x->settings.batch_max, spans);
    mutex_unlock(&x->mutex);
    return n;
}

/* Wait for @us, less when it is closed meanwhile: then there is time for one
 * more try at once. */
static void exporter_pause(struct otlp_exporter *x, uint64_t us)
{
    uint64_t until = world_mono_ns(x->world) + us * NS_PER_US;
    uint64_t now;
    bool closed;
    mutex_lock(&x->mutex);
    closed = x->closing;
    while (x->closing == closed && (now = world_mono_ns(x->world)) < until)
        (void)cond_wait_us(&x->changed, &x->mutex, x->world,
                           (until - now) / NS_PER_US + 1);
    mutex_unlock(&x->mutex);
}

/* --- sending ------------------------------------------------------------- */

static void compress_body(struct buf *body)
{
    struct buf packed = BUF_INIT;
    z_stream z = {.next_in = (Bytef *)(void *)body->data,
                  .avail_in = (uInt)body->len};
    int rc = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
                          GZIP_WINDOW_BITS, GZIP_MEMORY, Z_DEFAULT_STRATEGY);
    size_t room;
    PRE(rc == Z_OK);
    room = deflateBound(&z, (uLong)body->len);
    z.next_out = (Bytef *)(void *)buf_extend(&packed, room);
    z.avail_out = (uInt)room;
    rc = deflate(&z, Z_FINISH);
    PRE(rc == Z_STREAM_END);
    packed.len -= z.avail_out;
    deflateEnd(&z);
    buf_close(body);
    *body = packed;
}

/* The request with @spans, which are as the tracer keeps them. */
static void make_body(const struct otlp_exporter *x,
                      const struct buf *spans,
                      struct buf *body)
{
    struct buf fields = BUF_INIT;
    struct slice rest = buf_slice(spans);
    while (rest.len) {
        struct span_record r;
        int rc = span_record_get(&rest, &r, NULL);
        PRE(rc == 0); /* It was encoded by this process. */
        otlp_message_add(&fields, &r);
    }
    otlp_message_put(body, x->settings.resource, x->settings.resource_count,
                     buf_slice(&fields));
    buf_close(&fields);
    if (x->settings.gzip)
        compress_body(body);
}

static bool must_stop(void *ctx)
{
    struct otlp_exporter *x = ctx;
    uint64_t at = atomic_load(&x->close_ns);
    return at && world_mono_ns(x->world) >= at;
}

static uint64_t time_left_us(struct otlp_exporter *x)
{
    uint64_t at = atomic_load(&x->close_ns);
    uint64_t now = world_mono_ns(x->world);
    if (at == 0)
        return x->settings.timeout_us;
    return at > now ? MIN_OF((at - now) / NS_PER_US, x->settings.timeout_us)
                    : 0;
}

static bool may_ask_again(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Log the first of several failures. */
static void
exporter_complain(struct otlp_exporter *x, size_t count, const char *why)
{
    metric_add(&x->dropped, count);
    if (!x->is_failing)
        log_warn(x->world, "trace", "spans not exported spans=%zu why=\"%s\"",
                 count, why);
    x->is_failing = true;
}

/* The receiver has taken a batch of @count, or a part of it. */
static void exporter_note_sent(struct otlp_exporter *x,
                               size_t count,
                               const struct otlp_answer *a)
{
    struct slice why;
    uint64_t refused = otlp_message_refused(buf_slice(&a->body), &why);
    struct buf text = BUF_INIT;
    refused = MIN_OF(refused, count);
    metric_add(&x->sent, count - refused);
    if (refused) {
        text_put_escaped(&text, slice_sub(why, 0, WHY_BYTES_SHOWN), '"');
        exporter_complain(x, (size_t)refused, buf_cstr(&text));
    } else if (x->is_failing) {
        log_info(x->world, "trace", "spans are exported again");
        x->is_failing = false;
    }
    buf_close(&text);
}

/* Try once. True: it is settled; else *@pause_us is what the receiver asks
 * for, and @err why. */
static bool exporter_try(struct otlp_exporter *x,
                         size_t count,
                         struct slice body,
                         struct otlp_answer *a,
                         uint64_t *pause_us,
                         struct err *err)
{
    int rc;
    a->status = 0;
    rc = otlp_post_send(x->post, body, time_left_us(x), must_stop, x, a, err);
    if (rc == 0 && a->status >= 200 && a->status < 300) {
        exporter_note_sent(x, count, a);
        return true;
    }
    metric_add(&x->failures, 1);
    if (rc == 0) {
        *pause_us = a->retry_after_us;
        err_set(err, ERR_UNAVAILABLE, "%s answers %ld", x->settings.url,
                a->status);
        if (!may_ask_again(a->status)) {
            exporter_complain(x, count, err->text);
            return true;
        }
    }
    return false;
}

/* From half to all of a pause that doubles. */
static uint64_t next_pause(struct otlp_exporter *x, uint64_t *pause_us)
{
    uint64_t us = *pause_us;
    *pause_us = MIN_OF(us * 2, PAUSE_MAX_US);
    return us / 2 + world_random(x->world) % (us / 2);
}

/* How long a batch whose first try was at @begin_ns may still be tried. Nobody
 * who ends waits for a receiver that is not there. */
static uint64_t patience_us(struct otlp_exporter *x,
                            uint64_t begin_ns,
                            const struct otlp_answer *a)
{
    uint64_t at = atomic_load(&x->close_ns);
    uint64_t end = begin_ns + BATCH_US_MAX * NS_PER_US;
    uint64_t now = world_mono_ns(x->world);
    if (at)
        end = a->status ? MIN_OF(end, at) : now;
    return end > now ? (end - now) / NS_PER_US : 0;
}

static void
exporter_send(struct otlp_exporter *x, size_t count, const struct buf *spans)
{
    struct otlp_answer answer = {.status = 0};
    struct buf body = BUF_INIT;
    struct err err = ERR_INIT;
    uint64_t begin_ns = world_mono_ns(x->world);
    uint64_t pause_us = PAUSE_MIN_US;
    bool done = false;
    make_body(x, spans, &body);
    while (!done) {
        uint64_t asked_us = 0;
        uint64_t us;
        done =
            exporter_try(x, count, buf_slice(&body), &answer, &asked_us, &err);
        us = asked_us ? asked_us : next_pause(x, &pause_us);
        if (done)
            break;
        if (us >= patience_us(x, begin_ns, &answer)) {
            exporter_complain(x, count, err.text);
            break;
        }
        exporter_pause(x, us);
    }
    buf_close(&answer.body);
    buf_close(&body);
}

static void run_exporter(void *arg)
{
    struct otlp_exporter *x = arg;
    struct buf spans = BUF_INIT;
    size_t n;
    while ((n = exporter_await(x, &spans)) > 0) {
        if (must_stop(x))
            exporter_complain(x, n, "the process ends");
        else
            exporter_send(x, n, &spans);
        buf_clear(&spans);
    }
    buf_close(&spans);
}

/* --- its life ------------------------------------------------------------ */

int otlp_exporter_open(struct world *w,
                       struct tracer *t,
                       struct otlp_settings *s,
                       struct otlp_exporter **out,
                       struct err *err)
{
    struct otlp_exporter *x = mem_zalloc(1, sizeof(*x));
    int rc;
    PRE(s->url && s->batch_max > 0 && s->batch_max <= s->queue_max);
    *out = NULL;
    x->settings = *s;
    *s = (struct otlp_settings){.url = NULL};
    rc = otlp_post_open(&x->settings, &x->post, err);
    if (rc) {
        otlp_settings_close(&x->settings);
        mem_free(x);
        return rc;
    }
    x->world = w;
    x->tracer = t;
    x->last = &x->first;
    mutex_init(&x->mutex);
    cond_init(&x->changed);
    atomic_init(&x->close_ns, 0);
    x->task = task_start(w, "otlp", run_exporter, x);
    tracer_set_sink(t, exporter_take, x);
    *out = x;
    return 0;
}

void otlp_exporter_close(struct otlp_exporter *x, uint64_t patience_us)
{
    if (!x)
        return;
    tracer_set_sink(x->tracer, NULL, NULL);
    atomic_store(&x->close_ns,
                 world_mono_ns(x->world) + patience_us * NS_PER_US);
    mutex_lock(&x->mutex);
    x->closing = true;
    cond_broadcast(&x->changed);
    mutex_unlock(&x->mutex);
    task_join(x->task);
    INVARIANT(x->count == 0 && x->bytes == 0); /* INV-1 */
    otlp_post_close(x->post);
    otlp_settings_close(&x->settings);
    cond_close(&x->changed);
    mutex_close(&x->mutex);
    mem_free(x);
}

void otlp_exporter_gather(struct otlp_exporter *x, struct metric_set *out)
{
    size_t count;
    if (!x)
        return;
    mutex_lock(&x->mutex);
    count = x->count;
    mutex_unlock(&x->mutex);
    metric_put_counter(out, METRIC_trace_exported_spans, NULL, &x->sent);
    metric_put_counter(out, METRIC_trace_export_dropped_spans, NULL,
                       &x->dropped);
    metric_put_counter(out, METRIC_trace_export_failures, NULL, &x->failures);
    metric_put(out, METRIC_trace_export_waiting_spans, NULL, (double)count);
}

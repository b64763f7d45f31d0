/* A channel over streams: it connects with its first call, shares the
 * connection among all calls, and connects again after it is lost. Failures are
 * remembered for a pause that doubles, so that callers of a dead server fail at
 * once instead of each waiting for a time-out.
 *
 * One loop owns all of it. A call from another thread is run there for its
 * caller.
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/frame.h"
#include "base/rpc/handshake.h"
#include "base/rpc/link.h"
#include "base/rpc/nearby.h"
#include "base/rpc/remote.h"
#include "base/rpc/rpc.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"
#include "base/trace/tracer.h"

#define CONNECT_TIMEOUT_US_DEFAULT UINT64_C(5000000)
/* Two pings fit into the silence of a dead one, and a keep-alive that is
 * answered each 0.75 s needs none. */
#define PING_US_DEFAULT UINT64_C(833333)
#define PATIENCE_MIN_US UINT64_C(500000)
/* Longest wait of a call for a server that did not answer when it was last
 * tried; a running one answers within milliseconds. */
#define DOUBT_WAIT_US          UINT64_C(50000)
#define DEAD_US_DEFAULT        UINT64_C(2500000)
#define BACKOFF_MIN_US_DEFAULT UINT64_C(20000)
#define BACKOFF_MAX_US_DEFAULT UINT64_C(2000000)
/* A connection without calls for this time is closed. */
#define UNUSED_US UINT64_C(60000000)

/* On the stack of a caller that waits for the connection. */
struct hopeful {
    struct hopeful *next;
    struct hopeful *prev;
    struct fiber *fiber;
};

struct client_counters {
    struct metric_counter *calls;
    struct metric_counter *failed;
    struct metric_counter *connects;
    struct metric_counter *connect_failures;
    struct metric_counter *lost;
    struct metric_counter *bytes_in;
    struct metric_counter *bytes_out;
};

struct rpc_channel {
    struct loop *loop;
    char *address; /* Owned. */
    struct rpc_channel_options options;
    struct link *link;        /* NULL: there is none. */
    size_t link_count;        /* This one, and those that are closing. */
    struct fiber *connecting; /* NULL: no attempt is under way. */
    uint64_t connecting_ns;   /* When the attempt began. */
    struct hopeful *hopefuls; /* Callers that wait for it. */
    struct err failure;       /* Why the last try to connect failed. */
    unsigned failure_count;   /* In a row. */
    bool is_doubtful;         /* It was silent, and not heard since. */
    uint64_t retry_ns;        /* Calls fail at once until then. */
    bool told_unshared;       /* It was logged that no memory is shared. */
    uint64_t last_call_id;
    size_t caller_count;  /* Fibers inside call_here(). */
    struct fiber *closer; /* Waits for all of these to end. */
    struct client_counters counters;
};

static struct world *world_of(const struct rpc_channel *c)
{
    return loop_world(c->loop);
}

static void wake_closer(struct rpc_channel *c)
{
    if (c->closer)
        fiber_wake(c->closer);
}

/* --- connecting ---------------------------------------------------------- */

static void on_lost(void *ctx, bool silent)
{
    struct rpc_channel *c = ctx;
    c->link = NULL;
    c->is_doubtful = silent;
    metric_add(c->counters.lost, 1);
}

static void on_gone(void *ctx, uint64_t bytes_in, uint64_t bytes_out)
{
    struct rpc_channel *c = ctx;
    metric_add(c->counters.bytes_in, bytes_in);
    metric_add(c->counters.bytes_out, bytes_out);
    c->link_count--;
    wake_closer(c);
}

/* Connect, through the Unix socket if it is a server of this machine that
 * offers one. */
static int
client_reach(struct rpc_channel *c, struct stream **out, struct err *err)
{
    char nearby[NEARBY_BYTES];
    if (nearby_address(c->address, nearby) &&
        stream_connect(nearby, out, NULL) == 0)
        return 0;
    return stream_connect(c->address, out, err);
}

/* How long this attempt to connect may take. A running server answers within
 * milliseconds, and the caller of one that is gone can often use another, so
 * the first attempts are short. Each failure doubles the time, for slow
 * servers. */
static uint64_t patience_us(const struct rpc_channel *c)
{
    uint64_t us = PATIENCE_MIN_US;
    for (unsigned i = 0;
         i < c->failure_count && us < c->options.connect_timeout_us; i++)
        us *= 2;
    return MIN_OF(us, c->options.connect_timeout_us);
}

static int open_stream(struct rpc_channel *c,
                       struct stream **out,
                       struct sharing *sharing,
                       struct err *err)
{
    uint64_t now = world_mono_ns(world_of(c));
    int rc;
    fiber_set_deadline(now + patience_us(c) * 1000);
    rc = client_reach(c, out, err);
    if (rc == 0)
        rc = handshake_connect(c->options.security, c->address, out, sharing,
                               err);
    fiber_set_deadline(0);
    return rc;
}

/* Log once that attachments are copied through the socket. */
static void note_unshared(struct rpc_channel *c, const struct err *why)
{
    if (why->code && !c->told_unshared)
        log_warn(world_of(c), "rpc", "no shared memory peer=%s why=\"%s\"",
                 c->address, why->text);
    c->told_unshared = why->code != 0;
}

/* Each failure doubles the pause; jitter spreads the clients of the same
 * server. */
static void back_off(struct rpc_channel *c, int rc, const struct err *err)
{
    uint64_t us = c->options.backoff_min_us;
    for (unsigned i = 0; i < c->failure_count && us < c->options.backoff_max_us;
         i++)
        us *= 2;
    us = MIN_OF(us, c->options.backoff_max_us);
    us = us / 2 + world_random(world_of(c)) % (us + 1);
    c->failure_count++;
    c->is_doubtful = c->is_doubtful || rc == ERR_DEADLINE;
    c->retry_ns = world_mono_ns(world_of(c)) + us * 1000;
    /* Callers get an error that says that nothing was done. */
    err_copy(&c->failure, err);
    if (rc == ERR_DEADLINE)
        err_set(&c->failure, ERR_UNAVAILABLE, "%s: no connection in time",
                c->address);
    else if (rc == ERR_CLOSED || rc == ERR_IO || rc == ERR_CANCELLED)
        c->failure.code = ERR_UNAVAILABLE;
    metric_add(c->counters.connect_failures, 1);
}

static void client_keep_stream(struct rpc_channel *c,
                               struct stream *s,
                               const struct sharing *sharing)
{
    struct link_options o = {.version = sharing->version,
                             .ping_us = c->options.ping_us,
                             .dead_us = c->options.dead_us,
                             .idle_us = UNUSED_US,
                             .lost = on_lost,
                             .gone = on_gone,
                             .ctx = c};
    c->link_count++;
    c->link = link_start(s, sharing->ring, &o);
    c->failure.code = 0;
    c->failure_count = 0;
    c->is_doubtful = false;
    c->retry_ns = 0;
    metric_add(c->counters.connects, 1);
}

static void run_connecting(void *arg)
{
    struct rpc_channel *c = arg;
    struct err err = ERR_INIT;
    struct sharing sharing = {.refused = ERR_INIT};
    struct stream *s;
    int rc = open_stream(c, &s, &sharing, &err);
    note_unshared(c, &sharing.refused);
    if (rc == 0)
        client_keep_stream(c, s, &sharing);
    else
        back_off(c, rc, &err);
    c->connecting = NULL;
    for (struct hopeful *h = c->hopefuls; h; h = h->next)
        fiber_wake(h->fiber);
    wake_closer(c);
}

static void start_connecting(struct rpc_channel *c)
{
    c->connecting_ns = world_mono_ns(world_of(c));
    c->connecting = fiber_start(c->loop, "rpc connect", run_connecting, c);
    fiber_detach(c->connecting);
}

/* Until when a call that came at @since_ns waits for the attempt. */
static uint64_t wait_until_ns(const struct rpc_channel *c, uint64_t since_ns)
{
    uint64_t until = c->connecting_ns + c->options.connect_wait_us * 1000;

    if (c->is_doubtful)
        return MIN_OF(until, since_ns + DOUBT_WAIT_US * 1000);
    return until;
}

/* Park until the connection is up, or the call that came at @since_ns has
 * waited as long as it may. */
static int park_for_connection(const struct rpc_channel *c,
                               uint64_t since_ns,
                               struct err *err)
{
    uint64_t until = wait_until_ns(c, since_ns);
    uint64_t deadline = fiber_deadline();
    if (c->options.connect_wait_us == 0 || (deadline && deadline <= until))
        return fiber_park_checked(err);
    if (world_mono_ns(world_of(c)) >= until)
        return err_set(err, ERR_UNAVAILABLE, "%s: no connection yet",
                       c->address);
    (void)fiber_park_until(until);
    return fiber_check(err);
}

static int await_connecting(struct rpc_channel *c, struct err *err)
{
    struct hopeful self = {.fiber = fiber_self(), .next = c->hopefuls};
    uint64_t since_ns = world_mono_ns(world_of(c));
    int rc = 0;
    if (self.next)
        self.next->prev = &self;
    c->hopefuls = &self;
    while (rc == 0 && c->connecting)
        rc = park_for_connection(c, since_ns, err);
    if (self.prev)
        self.prev->next = self.next;
    else
        c->hopefuls = self.next;
    if (self.next)
        self.next->prev = self.prev;
    return rc;
}

/* Get a connection, or an error that says that nothing was done. */
static int get_link(struct rpc_channel *c, struct err *err)
{
    int rc;
    if (c->link)
        return 0;
    if (c->closer)
        return err_set(err, ERR_UNAVAILABLE, "%s: the channel is closed",
                       c->address);
    if (!c->connecting && world_mono_ns(world_of(c)) < c->retry_ns)
        return err_copy(err, &c->failure);
    if (!c->connecting)
        start_connecting(c);
    rc = await_connecting(c, err);
    if (rc == 0 && !c->link)
        rc = c->failure.code ? err_copy(err, &c->failure)
                             : err_set(err, ERR_UNAVAILABLE,
                                       "%s: connection lost", c->address);
    return rc;
}

/* --- a call on the channel's loop ---------------------------------------- */

/* Arguments of rpc_call(), for the loop that runs it. */
struct remote_call {
    struct rpc_channel *client;
    uint32_t method;
    const struct rpc_call_options *opts;
    struct slice body;
    struct slice attachment;
    struct buf *reply_body;
    struct buf *reply_attachment;
    struct trace_context context; /* To be sent. */
    uint64_t deadline_ns;         /* Monotonic; 0: none. */
    struct err *err;
    int rc;
};

/* Never 0 while there is a deadline: 0 means none. */
static uint64_t time_left_us(const struct rpc_channel *c)
{
    uint64_t deadline = fiber_deadline();
    uint64_t now;
    if (!deadline)
        return 0;
    now = world_mono_ns(world_of(c));
    return deadline > now + 1000 ? (deadline - now) / 1000 : 1;
}

static int call_linked(struct rpc_channel *c, struct remote_call *k)
{
    struct link_call call = {.call_id = ++c->last_call_id,
                             .reply_body = k->reply_body,
                             .reply_attachment = k->reply_attachment,
                             .into = k->opts->into,
                             .err = k->err};
    struct frame f = {.kind = FRAME_REQUEST,
                      .flags = k->context.sampled ? FRAME_SAMPLED : 0,
                      .method = k->method,
                      .deadline_us = time_left_us(c),
                      .trace = k->context.trace,
                      .span_id = k->context.span_id,
                      .idempotency_key = k->opts->idempotency_key,
                      .act_as = k->opts->act_as,
                      .body = k->body,
                      .attachment = k->attachment,
                      .parts = k->opts->parts,
                      .part_count = k->opts->part_count,
                      .attachment_crc = k->opts->attachment_crc.value,
                      .attachment_crc_known = k->opts->attachment_crc.known &&
                                              k->opts->part_count == 0};
    int rc = link_call(c->link, &f, &call);
    if (k->opts->sent)
        *k->opts->sent = call.queued;
    return rc;
}

static void call_here(void *arg)
{
    struct remote_call *k = arg;
    struct rpc_channel *c = k->client;
    uint64_t outer = fiber_deadline();
    if (k->deadline_ns && (!outer || k->deadline_ns < outer))
        fiber_set_deadline(k->deadline_ns);
    c->caller_count++;
    k->rc = get_link(c, k->err);
    if (k->rc == 0)
        k->rc = call_linked(c, k);
    c->caller_count--;
    metric_add(c->counters.calls, 1);
    metric_add(c->counters.failed, k->rc ? 1 : 0);
    fiber_set_deadline(outer);
    if (c->caller_count == 0)
        wake_closer(c);
}

/* --- the channel --------------------------------------------------------- */

/* The nearer of the caller's deadline and the call's. *@now is set if the clock
 * was read. */
static uint64_t deadline_of(const struct rpc_channel *c,
                            const struct rpc_call_options *opts,
                            uint64_t *now)
{
    uint64_t deadline = fiber_deadline();
    uint64_t own;
    if (opts->timeout_us == 0)
        return deadline;
    *now = world_mono_ns(world_of(c));
    own = opts->timeout_us > (UINT64_MAX - *now) / 1000
              ? UINT64_MAX
              : *now + opts->timeout_us * 1000;
    return deadline && deadline < own ? deadline : own;
}

static bool is_here(const struct rpc_channel *c)
{
    return fiber_self() && loop_self() == c->loop;
}

static int check_size(const struct remote_call *k, struct err *err)
{
    struct frame f = {.act_as = k->opts->act_as,
                      .body = k->body,
                      .attachment = k->attachment,
                      .parts = k->opts->parts,
                      .part_count = k->opts->part_count};
    size_t bytes = frame_attachment_bytes(&f);
    PRE(k->opts->part_count <= RPC_PARTS_MAX);
    if (frame_head_bytes(&f) - FRAME_HEADER_BYTES > FRAME_BODY_BYTES_MAX ||
        bytes > FRAME_ATTACHMENT_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "request of %zu and %zu bytes",
                       k->body.len, bytes);
    return 0;
}

/* Both buffers are present. */
static int channel_call(struct remote_call *k)
{
    struct rpc_channel *c = k->client;
    struct span span;
    uint64_t now = 0;
    uint64_t end;
    int rc = check_size(k, k->err);
    if (rc)
        return rc;
    k->deadline_ns = deadline_of(c, k->opts, &now);
    span_begin_call(&span, world_of(c), "call", c->address, now);
    k->context = span.self;
    if (is_here(c))
        call_here(k);
    else
        loop_call(c->loop, "rpc call", call_here, k);
    end = span_clock(&span);
    if (span_is_due(&span, end)) {
        span.name = tracer_method_name(span.self.tracer, k->method);
        span_number(&span, "method", k->method);
    }
    span_end_at(&span, end, k->rc);
    return k->rc;
}

bool rpc_name_is_valid(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c <= ' ' || c == 0x7f || c == ',')
            return false;
    }
    return name.len > 0 && name.len <= RPC_NAME_BYTES_MAX;
}

int rpc_call(struct rpc_channel *c,
             uint32_t method,
             const struct rpc_call_options *opts,
             struct slice body,
             struct slice attachment,
             struct buf *reply_body,
             struct buf *reply_attachment,
             struct err *err)
{
    static const struct rpc_call_options no_options;
    struct buf dropped_body = BUF_INIT;
    struct buf dropped_attachment = BUF_INIT;
    struct remote_call k = {
        .client = c,
        .method = method,
        .opts = opts ? opts : &no_options,
        .body = body,
        .attachment = attachment,
        .reply_body = reply_body ? reply_body : &dropped_body,
        .reply_attachment =
            reply_attachment ? reply_attachment : &dropped_attachment,
        .err = err,
    };
    int rc;
    if (k.opts->sent)
        *k.opts->sent = false;
    if (k.opts->act_as.len && !rpc_name_is_valid(k.opts->act_as))
        return err_set(err, ERR_INVALID, "'%.*s' is no principal",
                       SLICE_ARG(k.opts->act_as));
    rc = channel_call(&k);
    buf_close(&dropped_body);
    buf_close(&dropped_attachment);
    return rc;
}

static void close_here(void *arg)
{
    struct rpc_channel *c = arg;
    c->closer = fiber_self();
    if (c->connecting)
        fiber_cancel(c->connecting);
    while (c->connecting || c->link_count || c->caller_count) {
        if (c->link)
            link_close(c->link);
        fiber_park();
    }
}

void rpc_channel_free(struct rpc_channel *c)
{
    if (!c)
        return;
    if (is_here(c))
        close_here(c);
    else
        loop_call(c->loop, "rpc close", close_here, c);
    mem_free(c->address);
    mem_free(c);
}

static void set_defaults(struct rpc_channel_options *o)
{
    if (o->connect_timeout_us == 0)
        o->connect_timeout_us = CONNECT_TIMEOUT_US_DEFAULT;
    if (o->ping_us == 0)
        o->ping_us = PING_US_DEFAULT;
    if (o->dead_us == 0)
        o->dead_us = DEAD_US_DEFAULT;
    if (o->backoff_min_us == 0)
        o->backoff_min_us = BACKOFF_MIN_US_DEFAULT;
    if (o->backoff_max_us == 0)
        o->backoff_max_us = BACKOFF_MAX_US_DEFAULT;
}

static struct metric_counter *peer_counter(const struct rpc_channel *c,
                                           enum metric_id id)
{
    return metrics_counter(c->options.metrics, id, METRIC_LABELS(c->address));
}

static void open_counters(struct rpc_channel *c)
{
    c->counters = (struct client_counters){
        .calls = peer_counter(c, METRIC_rpc_client_calls),
        .failed = peer_counter(c, METRIC_rpc_client_failures),
        .connects = peer_counter(c, METRIC_rpc_client_connects),
        .connect_failures = peer_counter(c, METRIC_rpc_client_connect_failures),
        .lost = peer_counter(c, METRIC_rpc_client_lost_connections),
        .bytes_in = peer_counter(c, METRIC_rpc_client_received_bytes),
        .bytes_out = peer_counter(c, METRIC_rpc_client_sent_bytes),
    };
}

struct rpc_channel *rpc_channel_new(const char *address,
                                    const struct rpc_channel_options *opts)
{
    struct rpc_channel *c = mem_zalloc(1, sizeof(*c));
    PRE(fiber_self());
    c->loop = loop_self();
    c->address = mem_strdup(address);
    if (opts)
        c->options = *opts;
    set_defaults(&c->options);
    open_counters(c);
    return c;
}

int rpc_connect(const char *address, struct rpc_channel **out, struct err *err)
{
    struct rpc_channel *c = rpc_channel_new(address, NULL);
    int rc = get_link(c, err);
    *out = NULL;
    if (rc)
        rpc_channel_free(c);
    else
        *out = c;
    return rc;
}

bool rpc_channel_is_up(const struct rpc_channel *c)
{
    return c->link != NULL;
}

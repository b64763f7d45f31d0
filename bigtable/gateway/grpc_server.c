/* Accepting connections, and the server's end: no more calls are taken, running
 * ones may finish for a while, and the rest is cancelled.
 */
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_call.h"
#include "bigtable/gateway/grpc_limits.h"

#define MESSAGE_BYTES_MAX  ((size_t)256 << 20)
#define BUFFERED_BYTES_MAX ((size_t)1 << 30)
/* For the sessions of all connections: streams, headers, frames. */
#define SESSION_BYTES_MAX    ((size_t)256 << 20)
#define CALLS_MAX_DEFAULT    1000
#define CONNECTIONS_DEFAULT  1000
#define HANDSHAKE_US_DEFAULT UINT64_C(10000000)
#define DRAIN_US_DEFAULT     UINT64_C(2000000)
#define REQUEST_US_DEFAULT   UINT64_C(60000000)
#define REPLY_US_DEFAULT     UINT64_C(300000000)
#define WRITE_US_DEFAULT     UINT64_C(60000000)
#define IDLE_US_DEFAULT      UINT64_C(1800000000)
#define KEEPALIVE_US_DEFAULT UINT64_C(120000000)
#define PING_US_DEFAULT      UINT64_C(20000000)
/* An address may have one connection in four. */
#define ADDRESS_SHARE 4
/* A line about one peer, at most so often. */
#define COMPLAIN_US UINT64_C(60000000)
/* Pause after accept failed for want of descriptors: others may close some. */
#define ACCEPT_RETRY_US 50000

static void set_default_us(uint64_t *us, uint64_t otherwise)
{
    if (*us == 0)
        *us = otherwise;
}

static void set_defaults(struct grpc_options *o)
{
    if (o->message_bytes_max == 0)
        o->message_bytes_max = MESSAGE_BYTES_MAX;
    if (o->buffered_bytes_max == 0)
        o->buffered_bytes_max = BUFFERED_BYTES_MAX;
    if (o->calls_max == 0)
        o->calls_max = CALLS_MAX_DEFAULT;
    if (o->connections_max == 0)
        o->connections_max = CONNECTIONS_DEFAULT;
    if (o->connections_per_address_max == 0)
        o->connections_per_address_max =
            (o->connections_max + ADDRESS_SHARE - 1) / ADDRESS_SHARE;
    set_default_us(&o->handshake_us, HANDSHAKE_US_DEFAULT);
    set_default_us(&o->drain_us, DRAIN_US_DEFAULT);
    set_default_us(&o->request_us, REQUEST_US_DEFAULT);
    set_default_us(&o->reply_us, REPLY_US_DEFAULT);
    set_default_us(&o->write_us, WRITE_US_DEFAULT);
    set_default_us(&o->idle_us, IDLE_US_DEFAULT);
    set_default_us(&o->keepalive_us, KEEPALIVE_US_DEFAULT);
    set_default_us(&o->keepalive_wait_us, PING_US_DEFAULT);
}

static void open_counters(struct grpc_server *s)
{
    struct metrics *m = s->options.metrics;
    s->accepted = metrics_counter(m, METRIC_gateway_accepted_connections, NULL);
    s->turned_away =
        metrics_counter(m, METRIC_gateway_turned_away_connections, NULL);
    s->unauthenticated =
        metrics_counter(m, METRIC_gateway_unauthenticated_calls, NULL);
}

void grpc_log(struct grpc_server *s,
              const char *what,
              const char *key,
              const char *text)
{
    uint64_t held_back;
    if (log_limiter_pass(s->limit, slice_str(key), &held_back))
        log_warn(s->world, "gateway", "%s why=\"%s\" held_back=%llu", what,
                 text, (unsigned long long)held_back);
}

static void grpc_server_complain(struct grpc_server *s,
                                 const struct stream *peer,
                                 const char *why)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s: %s", stream_peer(peer), why);
    metric_add(s->turned_away, 1);
    grpc_log(s, "turned away", why, buf_cstr(&text));
    buf_close(&text);
}

/* @stream is owned. */
static void take_connection(struct grpc_server *s, struct stream *stream)
{
    struct err why = ERR_INIT;
    switch (grpc_admit(s, stream_peer(stream), stream_is_local(stream), &why)) {
    case GRPC_SERVED: grpc_connection_start(s, stream, NULL); break;
    case GRPC_TURNED_AWAY:
        grpc_server_complain(s, stream, why.text);
        grpc_connection_start(s, stream, &why);
        break;
    case GRPC_DROPPED:
        grpc_server_complain(s, stream, why.text);
        stream_close(stream);
        break;
    }
}

static void run_accepting(void *arg)
{
    struct grpc_server *server = arg;
    int rc = 0;
    while (rc == 0 || rc == ERR_IO) {
        struct stream *s;
        rc = stream_accept(server->listener, &s, NULL);
        if (rc == ERR_IO)
            world_sleep_us(server->world, ACCEPT_RETRY_US);
        else if (rc == 0)
            take_connection(server, s);
    }
}

/* Where nobody has to say who it is, nobody but this machine may come. */
static int check_address(const struct stream_listener *l,
                         const struct grpc_options *opts,
                         struct err *err)
{
    if (opts->authenticate || stream_listener_is_local(l))
        return 0;
    err_set(err, ERR_DENIED,
            "listen on %s: without tokens or clients' certificates only on "
            "this machine's own addresses",
            stream_listener_address(l));
    err_hint(err, "set api-tokens, or api-certificate and api-authority, or "
                  "listen on 127.0.0.1");
    return ERR_DENIED;
}

int grpc_server_open(struct world *w,
                     const char *address,
                     const struct grpc_options *opts,
                     struct grpc_server **out,
                     struct err *err)
{
    struct stream_listener *listener;
    struct grpc_server *s;
    int rc = stream_listen(address, &listener, err);
    *out = NULL;
    if (rc)
        return rc;
    rc = check_address(listener, opts, err);
    if (rc) {
        stream_listener_close(listener);
        return rc;
    }
    s = mem_zalloc(1, sizeof(*s));
    s->world = w;
    s->loop = loop_self();
    s->options = *opts;
    s->listener = listener;
    set_defaults(&s->options);
    s->budget.max = s->options.buffered_bytes_max;
    s->session_budget.max = SESSION_BYTES_MAX;
    open_counters(s);
    grpc_meters_open(s);
    s->limit = log_limiter_new(w, COMPLAIN_US);
    s->accepting = fiber_start(s->loop, "grpc accept", run_accepting, s);
    s->sweeping = fiber_start(s->loop, "grpc sweep", grpc_run_sweep, s);
    *out = s;
    return 0;
}

const char *grpc_server_address(const struct grpc_server *s)
{
    return stream_listener_address(s->listener);
}

size_t grpc_server_connection_count(const struct grpc_server *s)
{
    return s->connection_count;
}

size_t grpc_server_call_count(const struct grpc_server *s)
{
    return s->call_count;
}

size_t grpc_server_buffered_bytes(const struct grpc_server *s)
{
    return s->budget.used;
}

/* Until no call runs, or patience ends. */
static void grpc_server_drain(struct grpc_server *s)
{
    uint64_t end_ns = world_mono_ns(s->world) + s->options.drain_us * 1000;
    for (struct grpc_connection *c = s->connections; c;
         c = grpc_connection_next(c))
        grpc_connection_drain(c);
    while (s->call_count && world_mono_ns(s->world) < end_ns)
        world_sleep_us(s->world, 1000);
}

void grpc_server_close(struct grpc_server *s)
{
    if (!s)
        return;
    fiber_cancel(s->accepting);
    fiber_join(s->accepting);
    stream_listener_close(s->listener);
    grpc_server_drain(s);
    s->closer = fiber_self();
    for (struct grpc_connection *c = s->connections; c;
         c = grpc_connection_next(c))
        grpc_connection_cancel(c);
    while (s->connections)
        fiber_park();
    fiber_cancel(s->sweeping);
    fiber_join(s->sweeping);
    log_limiter_free(s->limit);
    grpc_call_free_spares(s);
    grpc_meters_close(s);
    mem_free(s);
}

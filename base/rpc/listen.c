/* Accepting connections, and the counters of accepted and refused ones. A
 * loopback server also listens on a Unix socket (nearby.h). Without security
 * a listener must be local, which is checked here once for all servers. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/nearby.h"
#include "base/rpc/rpc_server.h"
#include "base/rpc/security_internal.h"
#include "base/rpc/serve.h"
#include "base/runtime/descriptors.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

#define CALLS_MAX_DEFAULT     1024
#define IN_BYTES_MAX_DEFAULT  ((size_t)64 << 20)
#define ALL_BYTES_MAX_DEFAULT ((size_t)1 << 30)
#define IDLE_US_DEFAULT       UINT64_C(60000000)
#define SLOW_US_DEFAULT       UINT64_C(30000000)
#define HANDSHAKE_US_DEFAULT  UINT64_C(5000000)
#define COMPLAIN_US           UINT64_C(60000000)

/* Values of the label principal_class. */
static const char *const caller_class_names[CALLER_CLASS_COUNT] = {
    [CALLER_CLUSTER] = "cluster",
    [CALLER_USER] = "user",
    [CALLER_DELEGATE] = "delegate",
};

void serve_complain(struct rpc_listener *l,
                    const char *what,
                    const char *peer,
                    const char *why)
{
    const char *colon = strrchr(peer, ':');
    size_t host_bytes = colon ? (size_t)(colon - peer) : strlen(peer);
    struct buf key = BUF_INIT;
    uint64_t held_back;
    bool pass;
    buf_append_str(&key, what);
    buf_append(&key, peer, host_bytes);
    pass = log_limiter_pass(l->limit, buf_slice(&key), &held_back);
    buf_close(&key);
    if (!pass)
        return;
    log_warn(rpc_server_world(l->server), "rpc",
             "%s peer=%s why=\"%s\" held_back=%llu", what, peer, why,
             (unsigned long long)held_back);
}

/* --- accepting ----------------------------------------------------------- */

static void run_accepting(void *arg)
{
    struct rpc_listener *l = arg;
    struct stream *s;
    while (stream_accept(l->listener, &s, NULL) == 0)
        serve_connection(l, s, false);
}

static void run_accepting_nearby(void *arg)
{
    struct rpc_listener *l = arg;
    struct stream *s;
    while (stream_accept(l->nearby, &s, NULL) == 0)
        serve_connection(l, s, true);
}

static void run_sweeping(void *arg)
{
    serve_sweep(arg);
}

/* Failing to listen there is not an error: clients use TCP. */
static void listen_nearby(struct rpc_listener *l)
{
    char address[NEARBY_BYTES];
    if (nearby_address(stream_listener_address(l->listener), address) &&
        stream_listen(address, &l->nearby, NULL) == 0)
        l->accepting_nearby = fiber_start(loop_self(), "rpc accept nearby",
                                          run_accepting_nearby, l);
}

/* --- the listener -------------------------------------------------------- */

static void set_defaults(struct rpc_listen_options *o)
{
    if (o->calls_max == 0)
        o->calls_max = CALLS_MAX_DEFAULT;
    if (o->in_bytes_max == 0)
        o->in_bytes_max = IN_BYTES_MAX_DEFAULT;
    if (o->in_all_bytes_max == 0)
        o->in_all_bytes_max = ALL_BYTES_MAX_DEFAULT;
    if (o->out_all_bytes_max == 0)
        o->out_all_bytes_max = ALL_BYTES_MAX_DEFAULT;
    if (o->idle_us == 0)
        o->idle_us = IDLE_US_DEFAULT;
    if (o->slow_us == 0)
        o->slow_us = SLOW_US_DEFAULT;
    if (o->handshake_us == 0)
        o->handshake_us = HANDSHAKE_US_DEFAULT;
    o->admission = admission_limits_default(
        &o->admission, descriptors_for_connections(descriptors_limit()));
}

static void open_counters(struct serve_counters *out, struct metrics *m)
{
    *out = (struct serve_counters){
        .connections =
            metrics_counter(m, METRIC_rpc_accepted_connections, NULL),
        .too_many =
            metrics_counter(m, METRIC_rpc_turned_away_connections, NULL),
        .evicted = metrics_counter(m, METRIC_rpc_evicted_connections, NULL),
        .slow = metrics_counter(m, METRIC_rpc_slow_connections, NULL),
        .unknown = metrics_counter(m, METRIC_rpc_unknown_methods, NULL),
        .bad_frames = metrics_counter(m, METRIC_rpc_bad_frames, NULL),
        .bytes_in = metrics_counter(m, METRIC_rpc_received_bytes, NULL),
        .bytes_out = metrics_counter(m, METRIC_rpc_sent_bytes, NULL),
    };
    for (size_t i = 0; i < CALLER_CLASS_COUNT; i++)
        out->calls[i] = metrics_counter(m, METRIC_rpc_calls,
                                        METRIC_LABELS(caller_class_names[i]));
    for (int i = 0; i < HANDSHAKE_REFUSAL_COUNT; i++)
        out->refused[i] = metrics_counter(
            m, METRIC_rpc_refused_connections,
            METRIC_LABELS(handshake_refusal_name((enum handshake_refusal)i)));
}

/* Without security only local addresses are allowed. */
static int check_address(const struct stream_listener *l,
                         const struct rpc_security *s,
                         struct err *err)
{
    if ((s && s->kind != RPC_SECURITY_NONE) || stream_listener_is_local(l))
        return 0;
    err_set(err, ERR_DENIED,
            "listen on %s: without security only on this machine's own "
            "addresses",
            stream_listener_address(l));
    err_hint(err, "set a cluster key or certificates, or listen on 127.0.0.1");
    return ERR_DENIED;
}

int rpc_listen(struct rpc_server *server,
               const char *address,
               const struct rpc_listen_options *opts,
               struct rpc_listener **out,
               struct err *err)
{
    struct stream_listener *stream;
    struct rpc_listener *l;
    int rc = stream_listen(address, &stream, err);
    *out = NULL;
    if (rc)
        return rc;
    rc = check_address(stream, opts ? opts->security : NULL, err);
    if (rc) {
        stream_listener_close(stream);
        return rc;
    }
    l = mem_zalloc(1, sizeof(*l));
    l->server = server;
    l->listener = stream;
    if (opts)
        l->options = *opts;
    set_defaults(&l->options);
    admission_init(&l->admission, &l->options.admission);
    open_counters(&l->counters, l->options.metrics);
    l->limit = log_limiter_new(rpc_server_world(server), COMPLAIN_US);
    l->accepting = fiber_start(loop_self(), "rpc accept", run_accepting, l);
    l->sweeping = fiber_start(loop_self(), "rpc sweep", run_sweeping, l);
    listen_nearby(l);
    *out = l;
    return 0;
}

const char *rpc_listener_address(const struct rpc_listener *l)
{
    return stream_listener_address(l->listener);
}

void rpc_listener_print(const struct rpc_listener *l, struct buf *out)
{
    for (struct connection *c = l->connections; c; c = serve_next(c))
        serve_print(c, out);
}

void rpc_listener_status(const struct rpc_listener *l, struct buf *out)
{
    const struct admission *a = &l->admission;
    buf_printf(out,
               "connections=%zu/%zu unauthenticated=%zu/%zu requests=%zu/%zu "
               "answers=%zu/%zu",
               a->peer_count, a->limits.peers_max, a->unauthenticated_count,
               a->limits.unauthenticated_max, l->in_bytes,
               l->options.in_all_bytes_max, l->out_bytes,
               l->options.out_all_bytes_max);
}

void rpc_listener_gather(const struct rpc_listener *l, struct metric_set *out)
{
    const struct admission *a = &l->admission;
    metric_put(out, METRIC_rpc_connections, NULL, (double)a->peer_count);
    metric_put(out, METRIC_rpc_connections_limit, NULL,
               (double)a->limits.peers_max);
    metric_put(out, METRIC_rpc_unauthenticated, NULL,
               (double)a->unauthenticated_count);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("requests"),
               (double)l->in_bytes);
    metric_put(out, METRIC_memory_bytes, METRIC_LABELS("answers"),
               (double)l->out_bytes);
}

void rpc_listener_close(struct rpc_listener *l)
{
    if (!l)
        return;
    fiber_cancel(l->sweeping);
    fiber_join(l->sweeping);
    fiber_cancel(l->accepting);
    fiber_join(l->accepting);
    stream_listener_close(l->listener);
    if (l->accepting_nearby) {
        fiber_cancel(l->accepting_nearby);
        fiber_join(l->accepting_nearby);
    }
    stream_listener_close(l->nearby);
    l->closer = fiber_self();
    for (struct connection *c = l->connections; c; c = serve_next(c))
        serve_cancel(c);
    while (l->connections)
        fiber_park();
    log_limiter_free(l->limit);
    mem_free(l);
}

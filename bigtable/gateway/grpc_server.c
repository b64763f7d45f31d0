/* Accepting connections, and the server's end. */
#include "base/core/panic.h"
#include "base/rpc/vars.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_call.h"

#define MESSAGE_BYTES_MAX    ((size_t)256 << 20)
#define BUFFERED_BYTES_MAX   ((size_t)1 << 30)
#define CALLS_MAX_DEFAULT    1000
#define CONNECTIONS_DEFAULT  1000
#define HANDSHAKE_US_DEFAULT UINT64_C(10000000)
#define DRAIN_US_DEFAULT     UINT64_C(2000000)
/* Pause after accept failed for want of descriptors: others may close some. */
#define ACCEPT_RETRY_US 50000

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
    if (o->handshake_us == 0)
        o->handshake_us = HANDSHAKE_US_DEFAULT;
    if (o->drain_us == 0)
        o->drain_us = DRAIN_US_DEFAULT;
}

static void open_vars(struct grpc_server *s)
{
    struct vars *v = s->options.vars;
    if (!v)
        return;
    s->calls_var = vars_get(v, "gateway.calls");
    s->failed_var = vars_get(v, "gateway.failed");
    s->connections_var = vars_get(v, "gateway.connections");
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
        else if (rc == 0 &&
                 server->connection_count >= server->options.connections_max)
            stream_close(s);
        else if (rc == 0)
            grpc_connection_start(server, s);
    }
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
    s = mem_zalloc(1, sizeof(*s));
    s->world = w;
    s->loop = loop_self();
    s->options = *opts;
    s->listener = listener;
    set_defaults(&s->options);
    s->budget.max = s->options.buffered_bytes_max;
    open_vars(s);
    s->accepting = fiber_start(s->loop, "grpc accept", run_accepting, s);
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
static void drain(struct grpc_server *s)
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
    drain(s);
    s->closer = fiber_self();
    for (struct grpc_connection *c = s->connections; c;
         c = grpc_connection_next(c))
        grpc_connection_cancel(c);
    while (s->connections)
        fiber_park();
    grpc_call_free_spares(s);
    mem_free(s);
}

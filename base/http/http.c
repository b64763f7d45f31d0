/* The HTTP server: the one file that includes libmicrohttpd. The library's
 * thread accepts connections and parses requests; for each it runs the handler
 * in a fiber of the loop and waits for the reply. */
#include "base/http/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/http/guests.h"
#include "base/http/http_host.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/runtime/world_uv_address.h"

#define ADDRESS_BYTES 300
/* More than the admitted guests, because some of them are ending. */
#define LIBRARY_CONNECTIONS_MAX (2 * HTTP_CONNECTIONS_MAX)
/* Seconds without a byte in either direction. */
#define IDLE_S   30
#define SWEEP_US 1000000

struct http_server {
    struct MHD_Daemon *daemon;
    struct loop *loop; /* Where handlers run. */
    http_handler handler;
    void *ctx;
    char *names; /* Owned. */
    struct http_guests *guests;
    struct fiber *sweeping;
    char address[ADDRESS_BYTES];
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection;
    const char *path;
    char peer[ADDRESS_BYTES];
    struct http_reply reply;
};

const char *http_peer(const struct http_request *r)
{
    return r->peer;
}

const char *http_path(const struct http_request *r)
{
    return r->path;
}

const char *http_request_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* --- connections, on the library's thread -------------------------------- */

static uint64_t now_s(const struct http_server *s)
{
    return world_mono_ns(loop_world(s->loop)) / 1000000000;
}

static enum MHD_Result
on_accept(void *cls, const struct sockaddr *from, socklen_t bytes)
{
    struct http_server *s = cls;
    (void)bytes;
    return http_guests_admit(s->guests, from) ? MHD_YES : MHD_NO;
}

static const struct sockaddr *address_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
        ->client_addr;
}

static void on_connection(void *cls,
                          struct MHD_Connection *c,
                          void **guest,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = cls;
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *guest = http_guests_enter(s->guests, fd->connect_fd, address_of(c),
                                   now_s(s));
    else
        http_guests_leave(s->guests, *guest);
}

static void *guest_of(struct MHD_Connection *c)
{
    return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

static void run_sweeping(void *arg)
{
    struct http_server *s = arg;
    struct world *w = loop_world(s->loop);
    while (fiber_check(NULL) == 0) {
        http_guests_sweep(s->guests, now_s(s));
        world_sleep_us(w, SWEEP_US);
    }
}

/* --- requests, on the library's thread ----------------------------------- */

/* Pages have no scripts, load nothing, and send nothing. */
static const struct {
    const char *name;
    const char *value;
} headers[] = {
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'"},
};

static enum MHD_Result send_reply(struct MHD_Connection *c,
                                  const struct http_reply *reply)
{
    struct MHD_Response *out = MHD_create_response_from_buffer(
        reply->body.len, reply->body.data, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result rc;
    if (!out)
        return MHD_NO;
    (void)MHD_add_response_header(out, "Content-Type", reply->content_type);
    (void)MHD_add_response_header(out, "Cache-Control", "no-store");
    for (size_t i = 0; i < ARRAY_LEN(headers); i++)
        (void)MHD_add_response_header(out, headers[i].name, headers[i].value);
    rc = MHD_queue_response(c, reply->status, out);
    MHD_destroy_response(out);
    return rc;
}

static void run_handler(void *arg)
{
    struct http_request *r = arg;
    r->server->handler(r->server->ctx, r, &r->reply);
}

static void refuse_host(struct http_reply *reply)
{
    reply->status = MHD_HTTP_MISDIRECTED_REQUEST;
    buf_printf(&reply->body,
               "this server does not go by that name: use its address, or tell "
               "it the name (console-names)\n");
}

static bool is_called_right(const struct http_request *r)
{
    return http_host_is_ours(http_request_header(r, "Host"), r->server->names);
}

static void http_answer(struct http_request *r)
{
    void *guest = guest_of(r->connection);
    http_guests_busy(r->server->guests, guest, true);
    loop_call(r->server->loop, "http", run_handler, r);
    http_guests_busy(r->server->guests, guest, false);
}

static void note_peer(struct http_request *r)
{
    const struct sockaddr *from = address_of(r->connection);
    struct sockaddr_storage a = {.ss_family = from->sa_family};
    memcpy(&a, from,
           from->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                      : sizeof(struct sockaddr_in6));
    address_print(&a, r->peer, sizeof(r->peer));
}

static void http_refuse(struct http_reply *reply)
{
    reply->status = MHD_HTTP_METHOD_NOT_ALLOWED;
    buf_printf(&reply->body, "only GET and HEAD are answered here\n");
}

static enum MHD_Result on_request(void *cls,
                                  struct MHD_Connection *c,
                                  const char *url,
                                  const char *method,
                                  const char *version,
                                  const char *upload,
                                  size_t *upload_bytes,
                                  void **state)
{
    static const char seen;
    struct http_request r = {
        .server = cls,
        .connection = c,
        .path = url,
        .reply = {MHD_HTTP_OK, "text/plain; charset=utf-8", BUF_INIT}};
    enum MHD_Result rc;
    (void)version;
    (void)upload;
    if (*state == NULL) { /* The headers are complete; a body may follow. */
        *state = (void *)(uintptr_t)&seen;
        return MHD_YES;
    }
    if (*upload_bytes) { /* Discard a body; the request is refused after it. */
        *upload_bytes = 0;
        return MHD_YES;
    }
    note_peer(&r);
    if (!is_called_right(&r))
        refuse_host(&r.reply);
    else if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        http_answer(&r);
    else
        http_refuse(&r.reply);
    http_guests_answered(r.server->guests, guest_of(c), now_s(r.server));
    rc = send_reply(c, &r.reply);
    buf_close(&r.reply.body);
    return rc;
}

/* --- opening ------------------------------------------------------------- */

/* Store the port that was chosen in @at. */
static void note_address(struct http_server *s, struct sockaddr_storage *at)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    uint16_t port = info ? htons(info->port) : 0;
    if (port && at->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)at)->sin6_port = port;
    else if (port)
        ((struct sockaddr_in *)(void *)at)->sin_port = port;
    address_print(at, s->address, sizeof(s->address));
}

static int
http_start(struct http_server *s, struct resolved *at, struct err *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
    if (at->family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    s->daemon = MHD_start_daemon(
        flags, 0, on_accept, s, on_request, s, MHD_OPTION_SOCK_ADDR, &at->addr,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)LIBRARY_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_BYTES,
        MHD_OPTION_END);
    if (!s->daemon && errno == EADDRINUSE)
        return err_set(err, ERR_BUSY, "the port is in use");
    if (!s->daemon)
        return err_set_errno(err, errno ? errno : EIO, "listen");
    note_address(s, &at->addr);
    return 0;
}

static void free_server(struct http_server *s)
{
    http_guests_free(s->guests);
    mem_free(s->names);
    mem_free(s);
}

int http_listen(const char *address,
                const char *names,
                http_handler handler,
                void *ctx,
                struct http_server **out,
                struct err *err)
{
    struct http_server *s = mem_zalloc(1, sizeof(*s));
    struct resolved at;
    int rc = address_resolve(address, true, &at, err);
    PRE(fiber_self() != NULL);
    *s = (struct http_server){
        .loop = loop_self(), .handler = handler, .ctx = ctx};
    s->names = mem_strdup(names ? names : "");
    s->guests = http_guests_new();
    if (rc == 0 && at.family != AF_INET && at.family != AF_INET6)
        rc = err_set(err, ERR_INVALID, "not an address of the internet");
    if (rc == 0)
        rc = http_start(s, &at, err);
    address_release(&at);
    if (rc) {
        err_wrap(err, "http on %s", address);
        free_server(s);
        s = NULL;
    } else {
        s->sweeping = fiber_start(s->loop, "http sweep", run_sweeping, s);
    }
    *out = s;
    return rc;
}

const char *http_address(const struct http_server *s)
{
    return s->address;
}

static void http_stop(void *arg)
{
    struct http_server *s = arg;
    MHD_stop_daemon(s->daemon);
}

void http_close(struct http_server *s)
{
    if (!s)
        return;
    /* A request under way needs the loop, so it must not block meanwhile. */
    offload(http_stop, s);
    fiber_cancel(s->sweeping);
    fiber_join(s->sweeping);
    free_server(s);
}

/* The HTTP server: the one file that knows libmicrohttpd. */
#include "base/http/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world_uv_address.h"

#define ADDRESS_BYTES 300

struct http_server {
    struct MHD_Daemon *daemon;
    struct loop *loop; /* Where handlers run. */
    http_handler handler;
    void *ctx;
    char address[ADDRESS_BYTES];
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection;
    const char *path;
    struct http_reply reply;
};

const char *http_path(const struct http_request *r)
{
    return r->path;
}

const char *http_parameter(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND,
                                       name);
}

/* --- requests, on the library's thread ------------------------------------ */

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
    (void)MHD_add_response_header(out, "X-Content-Type-Options", "nosniff");
    rc = MHD_queue_response(c, reply->status, out);
    MHD_destroy_response(out);
    return rc;
}

static void run_handler(void *arg)
{
    struct http_request *r = arg;
    r->server->handler(r->server->ctx, r, &r->reply);
}

static void refuse(struct http_reply *reply)
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
    if (*state == NULL) { /* The headers are there, a body may follow. */
        *state = (void *)(uintptr_t)&seen;
        return MHD_YES;
    }
    if (*upload_bytes) { /* Let a body go by: it is refused behind it. */
        *upload_bytes = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        loop_call(r.server->loop, "http", run_handler, &r);
    else
        refuse(&r.reply);
    rc = send_reply(c, &r.reply);
    buf_close(&r.reply.body);
    return rc;
}

/* --- life ------------------------------------------------------------------
 */

/* @at gets the port that was chosen. */
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

static int start(struct http_server *s, struct resolved *at, struct err *err)
{
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD;
    if (at->family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, &at->addr,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_BYTES,
        MHD_OPTION_END);
    if (!s->daemon && errno == EADDRINUSE)
        return err_set(err, ERR_BUSY, "the port is in use");
    if (!s->daemon)
        return err_set_errno(err, errno ? errno : EIO, "listen");
    note_address(s, &at->addr);
    return 0;
}

int http_listen(const char *address,
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
    if (rc == 0 && at.family != AF_INET && at.family != AF_INET6)
        rc = err_set(err, ERR_INVALID, "not an address of the internet");
    if (rc == 0)
        rc = start(s, &at, err);
    address_release(&at);
    if (rc) {
        err_wrap(err, "http on %s", address);
        mem_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

const char *http_address(const struct http_server *s)
{
    return s->address;
}

static void stop(void *arg)
{
    struct http_server *s = arg;
    MHD_stop_daemon(s->daemon);
}

void http_close(struct http_server *s)
{
    if (!s)
        return;
    /* A request under way needs the loop: it must go on meanwhile. */
    offload(stop, s);
    mem_free(s);
}

/* The HTTP server: connections, and requests from their first byte to their
 * reply (http.h tells their life). */
#include "base/http/http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "base/http/guests.h"
#include "base/http/http_host.h"
#include "base/http/http_private.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/runtime/world_uv_address.h"

/* More than the admitted guests, because some of them are ending. */
#define LIBRARY_CONNECTIONS_MAX (2 * HTTP_CONNECTIONS_MAX)
/* Seconds without a byte in either direction. */
#define IDLE_S   30
#define SWEEP_US 1000000

/* --- what handlers ask --------------------------------------------------- */

const char *http_peer(const struct http_request *r)
{
    return r->peer;
}

bool http_is_post(const struct http_request *r)
{
    return r->is_post;
}

const char *http_method(const struct http_request *r)
{
    return r->method;
}

struct slice http_raw_body(const struct http_request *r)
{
    return buf_slice(&r->body);
}

const char *http_path(const struct http_request *r)
{
    return r->target;
}

const struct http_segments *http_path_segments(const struct http_request *r)
{
    return &r->segments;
}

const char *http_query_text(const struct http_request *r)
{
    return r->query_text;
}

const struct http_form *http_query(const struct http_request *r)
{
    return &r->query;
}

const struct http_form *http_body(const struct http_request *r)
{
    return &r->form;
}

const char *http_request_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* --- replies ------------------------------------------------------------- */

void http_reply_header(struct http_reply *reply,
                       const char *name,
                       const char *value)
{
    for (const char *p = value; *p; p++)
        PRE(*p >= 0x20 && *p < 0x7f);
    buf_append(&reply->headers, name, strlen(name) + 1);
    buf_append(&reply->headers, value, strlen(value) + 1);
}

void http_reply_redirect(struct http_reply *reply, const char *path)
{
    reply->status = MHD_HTTP_SEE_OTHER;
    http_reply_header(reply, "Location", path);
    buf_clear(&reply->body);
}

/* Scripts, styles, pictures and connections are ours alone; no page is shown in
 * a frame or sends a form elsewhere. Without any referrer our own forms would
 * come with no origin. */
static const struct {
    const char *name;
    const char *value;
} headers[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
     "connect-src 'self'; form-action 'self'; base-uri 'none'; "
     "frame-ancestors 'none'"},
};

static void add_headers(struct MHD_Response *out, struct http_reply *reply)
{
    const char *p = reply->headers.data;
    const char *end = p + reply->headers.len;
    while (p && p < end) {
        const char *name = p;
        const char *value = name + strlen(name) + 1;
        (void)MHD_add_response_header(out, name, value);
        p = value + strlen(value) + 1;
    }
    if (reply->content_type)
        (void)MHD_add_response_header(out, "Content-Type", reply->content_type);
    for (size_t i = 0; !reply->is_foreign && i < ARRAY_LEN(headers); i++)
        if (!MHD_get_response_header(out, headers[i].name))
            (void)MHD_add_response_header(out, headers[i].name,
                                          headers[i].value);
}

static uint64_t now_s(const struct http_server *s)
{
    return world_mono_ns(loop_world(s->loop)) / 1000000000;
}

static enum MHD_Result send_reply(struct http_request *r)
{
    struct http_reply *reply = &r->reply;
    struct MHD_Response *out =
        r->stream.fn
            ? http_stream_response(r)
            : MHD_create_response_from_buffer(reply->body.len, reply->body.data,
                                              MHD_RESPMEM_MUST_COPY);
    enum MHD_Result rc;
    if (!out)
        return MHD_NO;
    add_headers(out, reply);
    if (!r->stream.fn || r->is_head) {
        http_guests_busy(r->server->guests, r->guest, false);
        http_guests_answered(r->server->guests, r->guest, now_s(r->server));
    }
    rc = MHD_queue_response(r->connection, reply->status, out);
    MHD_destroy_response(out);
    buf_close(&reply->body);
    return rc;
}

/* --- handling, on the loop ----------------------------------------------- */

/* PRE: the server's mutex is held. */
static void leave_running(struct http_request *r)
{
    struct http_server *s = r->server;
    *(r->prev ? &r->prev->next : &s->running) = r->next;
    if (r->next)
        r->next->prev = r->prev;
    r->fiber = NULL;
    if (!s->running)
        cond_broadcast(&s->idle);
}

static void run_handler(void *arg)
{
    struct http_request *r = arg;
    struct http_server *s = r->server;
    s->handler(s->ctx, r, &r->reply);
    mutex_lock(&s->mutex);
    r->stage = HTTP_HANDLED;
    MHD_resume_connection(r->connection); /* INV-1 */
    if (r->stream.fn && s->is_closing)
        fiber_cancel(fiber_self());
    mutex_unlock(&s->mutex);
    if (r->stream.fn)
        http_stream_run(r);
    mutex_lock(&s->mutex);
    leave_running(r);
    mutex_unlock(&s->mutex);
    http_request_unref(r);
}

static void begin_handler(void *arg)
{
    struct http_request *r = arg;
    struct fiber *f = fiber_start(r->server->loop, "http", run_handler, r);
    r->fiber = f; /* It has not run yet. */
    fiber_detach(f);
}

/* False: the server closes. */
static bool enter_running(struct http_request *r)
{
    struct http_server *s = r->server;
    bool ok;
    mutex_lock(&s->mutex);
    ok = !s->is_closing;
    if (ok) {
        r->stage = HTTP_HANDLING;
        r->references++;
        r->prev = NULL;
        r->next = s->running;
        if (s->running)
            s->running->prev = r;
        s->running = r;
    }
    mutex_unlock(&s->mutex);
    return ok;
}

/* --- requests, on the library's thread ----------------------------------- */

static void note_peer(struct http_request *r)
{
    const struct sockaddr *from =
        MHD_get_connection_info(r->connection,
                                MHD_CONNECTION_INFO_CLIENT_ADDRESS)
            ->client_addr;
    struct sockaddr_storage a = {.ss_family = from->sa_family};
    memcpy(&a, from,
           from->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                      : sizeof(struct sockaddr_in6));
    address_print(&a, r->peer, sizeof(r->peer));
}

/* The request line has been read. */
static void *on_target(void *cls, const char *target, struct MHD_Connection *c)
{
    struct http_request *r = mem_zalloc(1, sizeof(*r));
    char *query;
    r->server = cls;
    r->connection = c;
    r->guest = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
                   ->socket_context;
    r->target = mem_strdup(target);
    query = strchr(r->target, '?');
    if (query)
        *query++ = '\0';
    r->query_text = query ? query : "";
    r->reply.status = MHD_HTTP_OK;
    r->reply.content_type = "text/plain; charset=utf-8";
    r->references = 1;
    cond_init(&r->stream.taken);
    note_peer(r);
    return r;
}

void http_request_unref(struct http_request *r)
{
    struct http_server *s = r->server;
    bool last;
    mutex_lock(&s->mutex);
    PRE(r->references > 0);
    last = --r->references == 0; /* INV-3 */
    mutex_unlock(&s->mutex);
    if (!last)
        return;
    http_segments_close(&r->segments);
    http_form_close(&r->query);
    http_form_close(&r->form);
    buf_close(&r->body);
    buf_close(&r->reply.body);
    buf_close(&r->reply.headers);
    cond_close(&r->stream.taken);
    mem_free(r->target);
    mem_free(r);
}

static void on_completed(void *cls,
                         struct MHD_Connection *c,
                         void **state,
                         enum MHD_RequestTerminationCode how)
{
    struct http_request *r = *state;
    (void)cls;
    (void)c;
    (void)how;
    *state = NULL;
    if (!r)
        return;
    http_stream_leave(r);
    http_request_unref(r);
}

/* --- judging requests ---------------------------------------------------- */

static enum MHD_Result http_refuse(struct http_request *r, unsigned status)
{
    r->reply.status = status;
    return send_reply(r);
}

static bool is_form(const struct http_request *r)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const char *type = http_request_header(r, "Content-Type");
    return type && strncasecmp(type, form, sizeof(form) - 1) == 0;
}

/* Targets are printable ASCII: a browser escapes all else. */
static int parse_request(struct http_request *r, struct err *err)
{
    int rc = 0;
    for (const char *p = r->target; *p; p++)
        if (*p <= 0x20 || *p >= 0x7f)
            rc = err_set(err, ERR_INVALID, "a byte that must be escaped");
    if (r->server->is_documents)
        return rc;
    if (rc == 0)
        rc = http_segments_parse(slice_str(r->target), &r->segments, err);
    if (rc == 0)
        rc = http_form_parse(slice_str(r->query_text), &r->query, err);
    if (rc == 0 && r->is_post && is_form(r))
        rc = http_form_parse(buf_slice(&r->body), &r->form, err);
    return rc;
}

/* A proxy's client names the host that it wants in the target. */
static bool is_for_another_host(const struct http_request *r)
{
    return r->server->is_proxy &&
           strncasecmp(r->target, "http://", strlen("http://")) == 0;
}

static const char *const methods[] = {"GET",   "HEAD",   "POST",   "PUT",
                                      "PATCH", "DELETE", "OPTIONS"};

static bool takes_method(const struct http_server *s, size_t method)
{
    if (s->is_documents)
        return method < (s->takes_methods ? ARRAY_LEN(methods) : 2);
    return method < 3;
}

static size_t method_of(const char *name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(methods) && strcmp(methods[i], name) != 0)
        i++;
    return i;
}

static unsigned refuse_method(struct http_request *r, const char *method)
{
    const char *allowed =
        r->server->is_documents ? "GET, HEAD" : "GET, HEAD, POST";
    struct buf *body = &r->reply.body;
    if (r->server->takes_methods)
        allowed = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    http_reply_header(&r->reply, "Allow", allowed);
    if (r->server->is_proxy && strcmp(method, "CONNECT") == 0)
        buf_append_str(body, "this proxy has no certificates of other hosts, "
                             "so that it makes no connections for https: ask "
                             "for http://, which finds both\n");
    else if (r->server->takes_methods)
        buf_printf(body, "only %s are answered here\n", allowed);
    else if (r->server->is_documents)
        buf_append_str(body, "only GET and HEAD are answered here\n");
    else
        buf_append_str(body, "only GET, HEAD and POST are answered here\n");
    return MHD_HTTP_METHOD_NOT_ALLOWED;
}

/* 0, or the status that refuses it. */
static unsigned judge_request(struct http_request *r, const char *method)
{
    struct err err = ERR_INIT;
    struct buf *body = &r->reply.body;
    if (r->server->is_proxy && strcmp(method, "CONNECT") == 0)
        return refuse_method(r, method);
    if (!is_for_another_host(r) &&
        !http_host_is_ours(http_request_header(r, "Host"), r->server->names)) {
        buf_append_str(body, "this server does not go by that name: use its "
                             "address, or tell it the name (console-names)\n");
        return MHD_HTTP_MISDIRECTED_REQUEST;
    }
    if (!takes_method(r->server, method_of(method)))
        return refuse_method(r, method);
    r->method = methods[method_of(method)];
    r->is_head = strcmp(method, "HEAD") == 0;
    r->is_post = strcmp(method, "POST") == 0;
    if (r->is_too_big) {
        buf_printf(body, "the body is longer than %zu bytes\n",
                   r->server->body_bytes_max);
        return MHD_HTTP_CONTENT_TOO_LARGE;
    }
    if (parse_request(r, &err)) {
        buf_printf(body, "malformed request: %s\n", err.text);
        return MHD_HTTP_BAD_REQUEST;
    }
    return 0;
}

static void take_body(struct http_request *r, const char *data, size_t len)
{
    if (r->is_too_big || r->body.len + len > r->server->body_bytes_max) {
        r->is_too_big = true;
        buf_close(&r->body);
    } else {
        buf_append(&r->body, data, len);
    }
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
    struct http_request *r = *state;
    struct http_server *s = cls;
    unsigned status;
    (void)url;
    (void)version;
    PRE(r && r->connection == c);
    if (r->stage == HTTP_HANDLED)
        return send_reply(r);
    if (!r->has_headers) { /* A body may follow. */
        r->has_headers = true;
        return MHD_YES;
    }
    if (*upload_bytes) {
        take_body(r, upload, *upload_bytes);
        *upload_bytes = 0;
        return MHD_YES;
    }
    status = judge_request(r, method);
    if (status)
        return http_refuse(r, status);
    if (!enter_running(r))
        return MHD_NO;
    http_guests_busy(s->guests, r->guest, true);
    MHD_suspend_connection(c);
    loop_post(s->loop, begin_handler, r);
    return MHD_YES;
}

/* --- connections, on the library's thread -------------------------------- */

static enum MHD_Result
on_accept(void *cls, const struct sockaddr *from, socklen_t bytes)
{
    struct http_server *s = cls;
    (void)bytes;
    return http_guests_admit(s->guests, from) ? MHD_YES : MHD_NO;
}

static void on_connection(void *cls,
                          struct MHD_Connection *c,
                          void **guest,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = cls;
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *guest = http_guests_enter(s->guests, fd->connect_fd, from->client_addr,
                                   now_s(s));
    else
        http_guests_leave(s->guests, *guest);
}

/* Texts are decoded here, part by part, not by the library. */
static size_t keep_escaped(void *cls, struct MHD_Connection *c, char *text)
{
    (void)cls;
    (void)c;
    return strlen(text);
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
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    if (at->family == AF_INET6)
        flags |= MHD_USE_IPv6;
    errno = 0;
    s->daemon = MHD_start_daemon(
        flags, 0, on_accept, s, on_request, s, MHD_OPTION_SOCK_ADDR, &at->addr,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, s, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escaped, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)LIBRARY_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        HTTP_CONNECTION_BYTES, MHD_OPTION_END);
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
    cond_close(&s->idle);
    mutex_close(&s->mutex);
    mem_free(s->names);
    mem_free(s);
}

static int http_open(const char *address,
                     const char *names,
                     const struct http_documents *documents,
                     http_handler handler,
                     void *ctx,
                     struct http_server **out,
                     struct err *err)
{
    struct http_server *s = mem_zalloc(1, sizeof(*s));
    struct resolved at;
    int rc = address_resolve(address, true, &at, err);
    PRE(fiber_self() != NULL);
    *s = (struct http_server){.loop = loop_self(),
                              .handler = handler,
                              .ctx = ctx,
                              .is_documents = documents != NULL,
                              .is_proxy = documents && documents->is_proxy,
                              .body_bytes_max = HTTP_BODY_BYTES_MAX};
    if (documents && documents->body_bytes_max) {
        s->takes_methods = true;
        s->body_bytes_max = documents->body_bytes_max;
    }
    s->names = mem_strdup(names ? names : "");
    s->guests = http_guests_new();
    mutex_init(&s->mutex);
    cond_init(&s->idle);
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

int http_listen(const char *address,
                const char *names,
                http_handler handler,
                void *ctx,
                struct http_server **out,
                struct err *err)
{
    return http_open(address, names, NULL, handler, ctx, out, err);
}

int http_listen_documents(const char *address,
                          const char *names,
                          const struct http_documents *documents,
                          http_handler handler,
                          void *ctx,
                          struct http_server **out,
                          struct err *err)
{
    PRE(documents != NULL);
    return http_open(address, names, documents, handler, ctx, out, err);
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
    mutex_lock(&s->mutex);
    s->is_closing = true;
    for (struct http_request *r = s->running; r; r = r->next) {
        if (r->stream.fn && r->fiber)
            fiber_cancel(r->fiber);
        cond_broadcast(&r->stream.taken);
    }
    while (s->running)
        cond_wait(&s->idle, &s->mutex);
    mutex_unlock(&s->mutex);
    /* The library's thread may need the loop to end. */
    offload(http_stop, s);
    fiber_cancel(s->sweeping);
    fiber_join(s->sweeping);
    free_server(s);
}

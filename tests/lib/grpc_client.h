/* A small client of gRPC for tests: one call after the other over one
 * connection of the runtime's streams, on a fiber.
 *
 * Everything is static: included by the tests of the gateway alone.
 */
#ifndef TESTS_LIB_GRPC_CLIENT_H
#define TESTS_LIB_GRPC_CLIENT_H

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/stream.h"

#define CLIENT_PADDING_MAX 150

/* A reply. */
struct grpc_reply {
    int http;          /* :status. */
    int code;          /* grpc-status; -1: none came. */
    uint32_t reset;    /* Error code of the stream's end. */
    struct buf text;   /* grpc-message, still %-encoded. */
    struct buf data;   /* Messages, each with its five bytes of prefix. */
    bool gzip;         /* grpc-encoding. */
    char details[128]; /* grpc-status-details-bin, cut; "": none. */
    char timing[32];   /* server-timing, likewise. */
    char params[128];  /* x-goog-ext-425905942-bin, likewise; */
    int params_count;  /* how often it came. */
    bool trailers_only;
    bool closed;
};

struct grpc_client {
    struct stream *io;
    nghttp2_session *session;
    struct grpc_reply *reply;
    int32_t stream;
    struct slice body;  /* The rest of the request, with its prefix. */
    size_t frame_bytes; /* DATA frames of the request; 0: as large as can be. */
    bool hold;          /* The request's end does not come. */
    bool goaway;        /* The server said so. */
    const char *timeout; /* grpc-timeout; NULL: none. */
    bool gzip;           /* The request is compressed. */
    const char *content_type;
    const char *padding;       /* One more header's value, */
    size_t padding_count;      /* this many times. */
    const char *authorization; /* NULL: none. */
    uint32_t window;   /* SETTINGS_INITIAL_WINDOW_SIZE; 0: the default. */
    size_t stop_after; /* RST_STREAM after this many bytes; 0: never. */
};

static inline void grpc_reply_close(struct grpc_reply *r)
{
    buf_close(&r->text);
    buf_close(&r->data);
}

static int client__on_header(nghttp2_session *session,
                             const nghttp2_frame *frame,
                             const uint8_t *name,
                             size_t name_len,
                             const uint8_t *value,
                             size_t value_len,
                             uint8_t flags,
                             void *user)
{
    struct grpc_client *c = user;
    struct slice n = slice_make(name, name_len);
    struct slice v = slice_make(value, value_len);
    (void)session;
    (void)flags;
    if (frame->hd.stream_id != c->stream || !c->reply)
        return 0;
    if (slice_eq_str(n, ":status")) {
        c->reply->http = atoi((const char *)value);
        c->reply->trailers_only =
            (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    } else if (slice_eq_str(n, "grpc-status")) {
        c->reply->code = atoi((const char *)value);
    } else if (slice_eq_str(n, "grpc-message")) {
        buf_append_slice(&c->reply->text, v);
    } else if (slice_eq_str(n, "grpc-status-details-bin")) {
        snprintf(c->reply->details, sizeof(c->reply->details), "%.*s",
                 SLICE_ARG(v));
    } else if (slice_eq_str(n, "server-timing")) {
        snprintf(c->reply->timing, sizeof(c->reply->timing), "%.*s",
                 SLICE_ARG(v));
    } else if (slice_eq_str(n, "x-goog-ext-425905942-bin")) {
        snprintf(c->reply->params, sizeof(c->reply->params), "%.*s",
                 SLICE_ARG(v));
        c->reply->params_count++;
    } else if (slice_eq_str(n, "grpc-encoding")) {
        c->reply->gzip = slice_eq_str(v, "gzip");
    }
    return 0;
}

static int client__on_data(nghttp2_session *session,
                           uint8_t flags,
                           int32_t stream,
                           const uint8_t *data,
                           size_t len,
                           void *user)
{
    struct grpc_client *c = user;
    (void)flags;
    if (stream != c->stream || !c->reply)
        return 0;
    buf_append(&c->reply->data, data, len);
    if (c->stop_after && c->reply->data.len >= c->stop_after)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream,
                                  NGHTTP2_CANCEL);
    return 0;
}

static int client__on_close(nghttp2_session *session,
                            int32_t stream,
                            uint32_t code,
                            void *user)
{
    struct grpc_client *c = user;
    (void)session;
    if (stream == c->stream && c->reply) {
        c->reply->reset = code;
        c->reply->closed = true;
    }
    return 0;
}

static int client__on_frame(nghttp2_session *session,
                            const nghttp2_frame *frame,
                            void *user)
{
    struct grpc_client *c = user;
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        c->goaway = true;
    return 0;
}

static ssize_t client__read_body(nghttp2_session *session,
                                 int32_t stream,
                                 uint8_t *to,
                                 size_t len,
                                 uint32_t *flags,
                                 nghttp2_data_source *source,
                                 void *user)
{
    struct grpc_client *c = user;
    size_t n = MIN_OF(c->body.len, len);
    (void)session;
    (void)stream;
    (void)source;
    if (c->frame_bytes)
        n = MIN_OF(n, c->frame_bytes);
    memcpy(to, c->body.data, n);
    c->body = slice_sub(c->body, n, c->body.len);
    if (c->body.len == 0 && !c->hold)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (n == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)n;
}

static int client__flush(struct grpc_client *c)
{
    const uint8_t *data;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(c->session, &data)) > 0) {
        struct slice part = slice_make(data, (size_t)n);
        if (stream_write(c->io, &part, 1, NULL))
            return -1;
    }
    return n < 0 ? -1 : 0;
}

/* Read once and let the session have it. */
static int client__pump(struct grpc_client *c)
{
    char room[8192];
    size_t got;
    if (client__flush(c) ||
        stream_read(c->io, room, sizeof(room), &got, NULL) || got == 0)
        return -1;
    if (nghttp2_session_mem_recv(c->session, (const uint8_t *)room, got) < 0)
        return -1;
    return client__flush(c);
}

static inline void grpc_client_open(struct grpc_client *c, const char *address)
{
    nghttp2_session_callbacks *k;
    nghttp2_option *option;
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                     c->window};
    int rc = stream_connect(address, &c->io, NULL);
    PRE(rc == 0);
    nghttp2_session_callbacks_new(&k);
    nghttp2_session_callbacks_set_on_header_callback(k, client__on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k,
                                                              client__on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, client__on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(k, client__on_frame);
    nghttp2_option_new(&option);
    nghttp2_option_set_max_send_header_block_length(option, 4 << 20);
    nghttp2_session_client_new2(&c->session, k, c, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(k);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, &window,
                            c->window ? 1 : 0);
}

static inline void grpc_client_close(struct grpc_client *c)
{
    nghttp2_session_del(c->session);
    stream_close(c->io);
}

static nghttp2_nv client__header(const char *name, const char *value)
{
    nghttp2_nv nv;
    memcpy(&nv.name, &name, sizeof(name));
    memcpy(&nv.value, &value, sizeof(value));
    nv.namelen = strlen(name);
    nv.valuelen = strlen(value);
    nv.flags = NGHTTP2_NV_FLAG_NONE;
    return nv;
}

/* Send @body, prefix included, to @path, and collect what comes until the
 * stream ends. @reply is closed by the caller. Returns -1 when the connection
 * broke. */
static inline int grpc_client_send(struct grpc_client *c,
                                   const char *path,
                                   struct slice body,
                                   struct grpc_reply *reply)
{
    nghttp2_data_provider source = {.read_callback = client__read_body};
    nghttp2_nv nv[9 + CLIENT_PADDING_MAX];
    size_t count = 0;
    *reply = (struct grpc_reply){.code = -1};
    nv[count++] = client__header(":method", "POST");
    nv[count++] = client__header(":scheme", "http");
    nv[count++] = client__header(":path", path);
    nv[count++] = client__header(":authority", "test");
    nv[count++] = client__header(
        "content-type", c->content_type ? c->content_type : "application/grpc");
    nv[count++] = client__header("te", "trailers");
    if (c->timeout)
        nv[count++] = client__header("grpc-timeout", c->timeout);
    if (c->gzip)
        nv[count++] = client__header("grpc-encoding", "gzip");
    if (c->authorization)
        nv[count++] = client__header("authorization", c->authorization);
    for (size_t i = 0; i < MIN_OF(c->padding_count, CLIENT_PADDING_MAX); i++)
        nv[count++] = client__header("x-padding", c->padding);
    c->body = body;
    c->reply = reply;
    c->stream =
        nghttp2_submit_request(c->session, NULL, nv, count, &source, NULL);
    PRE(c->stream > 0);
    while (!reply->closed)
        if (client__pump(c))
            return -1;
    return 0;
}

/* The same for one message. */
static inline int grpc_client_call(struct grpc_client *c,
                                   const char *path,
                                   struct slice message,
                                   struct grpc_reply *reply)
{
    struct buf body = BUF_INIT;
    int rc;
    buf_append_fill(&body, 0, 5);
    put_be32(body.data + 1, (uint32_t)message.len);
    buf_append_slice(&body, message);
    rc = grpc_client_send(c, path, buf_slice(&body), reply);
    buf_close(&body);
    return rc;
}

/* The next message of a reply; false behind the last. *@at begins with 0. */
static inline bool
grpc_reply_next(const struct grpc_reply *r, size_t *at, struct slice *message)
{
    size_t len;
    if (*at + 5 > r->data.len)
        return false;
    len = get_be32(r->data.data + *at + 1);
    PRE(*at + 5 + len <= r->data.len);
    *message = slice_make(r->data.data + *at + 5, len);
    *at += 5 + len;
    return true;
}

#endif /* TESTS_LIB_GRPC_CLIENT_H */

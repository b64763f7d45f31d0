/* Several calls of one method that a client sends with one write, for tests:
 * beside grpc_client.h, whose calls come one after the other.
 *
 * Everything is static: included by the tests of the gateway alone.
 */
#ifndef TESTS_LIB_GRPC_CROWD_H
#define TESTS_LIB_GRPC_CROWD_H

#include "tests/lib/grpc_client.h"

/* One of them. */
struct crowd_call {
    struct buf body;     /* With its prefix; owned. */
    size_t sent;         /* Of it. */
    const char *timeout; /* grpc-timeout; NULL: none. */
    bool gives_up;       /* RST_STREAM right behind the request. */
    int32_t stream;
    int code; /* grpc-status; -1: none came. */
    struct buf text;
    size_t data_bytes; /* Of the reply. */
    bool closed;
};

/* --- the session --------------------------------------------------------- */

static inline struct crowd_call *crowd__of(nghttp2_session *s, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(s, stream);
}

static inline int crowd__on_header(nghttp2_session *session,
                                   const nghttp2_frame *frame,
                                   const uint8_t *name,
                                   size_t name_len,
                                   const uint8_t *value,
                                   size_t value_len,
                                   uint8_t flags,
                                   void *user)
{
    struct crowd_call *call = crowd__of(session, frame->hd.stream_id);
    (void)flags;
    (void)user;
    if (call && slice_eq_str(slice_make(name, name_len), "grpc-status"))
        call->code = atoi((const char *)value);
    if (call && slice_eq_str(slice_make(name, name_len), "grpc-message"))
        buf_append(&call->text, value, value_len);
    return 0;
}

static inline int crowd__on_data(nghttp2_session *session,
                                 uint8_t flags,
                                 int32_t stream,
                                 const uint8_t *data,
                                 size_t len,
                                 void *user)
{
    struct crowd_call *call = crowd__of(session, stream);
    (void)flags;
    (void)data;
    (void)user;
    if (call)
        call->data_bytes += len;
    return 0;
}

static inline int crowd__on_close(nghttp2_session *session,
                                  int32_t stream,
                                  uint32_t code,
                                  void *user)
{
    struct crowd_call *call = crowd__of(session, stream);
    (void)code;
    (void)user;
    if (call)
        call->closed = true;
    return 0;
}

static inline ssize_t crowd__read_body(nghttp2_session *session,
                                       int32_t stream,
                                       uint8_t *to,
                                       size_t len,
                                       uint32_t *flags,
                                       nghttp2_data_source *source,
                                       void *user)
{
    struct crowd_call *call = source->ptr;
    size_t n = MIN_OF(call->body.len - call->sent, len);
    (void)session;
    (void)stream;
    (void)user;
    memcpy(to, call->body.data + call->sent, n);
    call->sent += n;
    if (call->sent == call->body.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* --- the calls ----------------------------------------------------------- */

static inline void crowd_open(struct grpc_client *c, const char *address)
{
    nghttp2_session_callbacks *k;
    int rc = stream_connect(address, &c->io, NULL);
    PRE(rc == 0);
    nghttp2_session_callbacks_new(&k);
    nghttp2_session_callbacks_set_on_header_callback(k, crowd__on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k,
                                                              crowd__on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, crowd__on_close);
    nghttp2_session_client_new(&c->session, k, c);
    nghttp2_session_callbacks_del(k);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, NULL, 0);
}

/* One call of @message, which is taken. */
static inline void crowd_call_init(struct crowd_call *call, struct buf *message)
{
    *call = (struct crowd_call){.code = -1};
    buf_append_fill(&call->body, 0, 5);
    put_be32(call->body.data + 1, (uint32_t)message->len);
    buf_append_slice(&call->body, buf_slice(message));
    buf_close(message);
}

static inline void crowd_call_close(struct crowd_call *call)
{
    buf_close(&call->body);
    buf_close(&call->text);
}

static inline void
crowd__submit(struct grpc_client *c, const char *path, struct crowd_call *call)
{
    nghttp2_data_provider source = {.source = {.ptr = call},
                                    .read_callback = crowd__read_body};
    nghttp2_nv nv[7];
    nv[0] = client__header(":method", "POST");
    nv[1] = client__header(":scheme", "http");
    nv[2] = client__header(":path", path);
    nv[3] = client__header(":authority", "test");
    nv[4] = client__header("content-type", "application/grpc");
    nv[5] = client__header("te", "trailers");
    nv[6] = client__header("grpc-timeout", call->timeout ? call->timeout : "");
    call->stream = nghttp2_submit_request(c->session, NULL, nv,
                                          call->timeout ? 7 : 6, &source, call);
    PRE(call->stream > 0);
}

/* Append the bytes that the session wants to send to @out. */
static inline void crowd__collect(struct grpc_client *c, struct buf *out)
{
    const uint8_t *data;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(c->session, &data)) > 0)
        buf_append(out, data, (size_t)n);
    PRE(n == 0);
}

/* Send all @count calls to @path with one write. */
static inline void crowd_send(struct grpc_client *c,
                              const char *path,
                              struct crowd_call *calls,
                              size_t count)
{
    struct buf out = BUF_INIT;
    struct slice part;
    int rc;
    for (size_t i = 0; i < count; i++)
        crowd__submit(c, path, &calls[i]);
    crowd__collect(c, &out);
    for (size_t i = 0; i < count; i++)
        if (calls[i].gives_up)
            nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE,
                                      calls[i].stream, NGHTTP2_CANCEL);
    crowd__collect(c, &out);
    part = buf_slice(&out);
    rc = stream_write(c->io, &part, 1, NULL);
    PRE(rc == 0);
    buf_close(&out);
}

/* Until all have ended. */
static inline void
crowd_await(struct grpc_client *c, const struct crowd_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        while (!calls[i].closed)
            if (client__pump(c))
                PANIC("the connection broke");
}

#endif /* TESTS_LIB_GRPC_CROWD_H */

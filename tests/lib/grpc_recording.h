/* The bytes that an ordinary client of gRPC sends on a new connection: made by
 * nghttp2's client, which gets no answer.
 *
 * Everything is static: included by the tests of the gateway alone.
 */
#ifndef TESTS_LIB_GRPC_RECORDING_H
#define TESTS_LIB_GRPC_RECORDING_H

#include "bigtable/gateway/gzip.h"
#include "tests/lib/grpc_client.h"

/* Methods of a recording: the server of a test has /t/echo and /t/repeat. */
enum grpc_recording {
    GRPC_RECORDING_UNARY,   /* Calls, one after the other. */
    GRPC_RECORDING_STREAM,  /* Long replies. */
    GRPC_RECORDING_CROWD,   /* Many at once, that go together. */
    GRPC_RECORDING_GZIP,    /* Compressed. */
    GRPC_RECORDING_REFUSED, /* Unknown methods, broken messages, resets. */
    GRPC_RECORDING_COUNT
};

struct recording__request {
    const char *path;
    struct buf body; /* Owned; with its prefix. */
    size_t sent;
    bool gzip;
};

static ssize_t recording__read(nghttp2_session *session,
                               int32_t stream,
                               uint8_t *to,
                               size_t len,
                               uint32_t *flags,
                               nghttp2_data_source *source,
                               void *user)
{
    struct recording__request *r = source->ptr;
    size_t n = MIN_OF(len, r->body.len - r->sent);
    (void)session;
    (void)stream;
    (void)user;
    memcpy(to, r->body.data + r->sent, n);
    r->sent += n;
    if (r->sent == r->body.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static void recording__flush(nghttp2_session *session, struct buf *out)
{
    const uint8_t *data;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(session, &data)) > 0)
        buf_append(out, data, (size_t)n);
    PRE(n == 0);
}

static int32_t recording__call(nghttp2_session *session,
                               const char *path,
                               struct slice message,
                               bool gzip,
                               struct buf *out)
{
    struct recording__request r = {.path = path, .gzip = gzip};
    nghttp2_data_provider source = {.source = {.ptr = &r},
                                    .read_callback = recording__read};
    nghttp2_nv nv[7];
    size_t count = 0;
    int32_t stream;
    nv[count++] = client__header(":method", "POST");
    nv[count++] = client__header(":scheme", "http");
    nv[count++] = client__header(":path", path);
    nv[count++] = client__header(":authority", "test");
    nv[count++] = client__header("content-type", "application/grpc");
    nv[count++] = client__header("te", "trailers");
    if (gzip)
        nv[count++] = client__header("grpc-encoding", "gzip");
    buf_append_fill(&r.body, gzip, 1);
    buf_append_fill(&r.body, 0, 4);
    if (gzip)
        gzip_compress(message, &r.body);
    else
        buf_append_slice(&r.body, message);
    put_be32(r.body.data + 1, (uint32_t)(r.body.len - 5));
    stream = nghttp2_submit_request(session, NULL, nv, count, &source, NULL);
    PRE(stream > 0);
    recording__flush(session, out);
    buf_close(&r.body);
    return stream;
}

static void recording__say(nghttp2_session *s, int what, struct buf *out)
{
    switch ((enum grpc_recording)what) {
    case GRPC_RECORDING_UNARY:
        for (int i = 0; i < 3; i++)
            recording__call(s, "/t/echo", SLICE_LIT("one message"), false, out);
        break;
    case GRPC_RECORDING_STREAM:
        for (int i = 0; i < 3; i++)
            recording__call(s, "/t/repeat", SLICE_LIT("r"), false, out);
        break;
    case GRPC_RECORDING_CROWD:
        for (int i = 0; i < 12; i++)
            recording__call(s, "/t/echo", SLICE_LIT("x"), false, out);
        break;
    case GRPC_RECORDING_GZIP:
        recording__call(s, "/t/echo", SLICE_LIT("aaaaaaaaaaaaaaa"), true, out);
        recording__call(s, "/t/repeat", SLICE_LIT("g"), true, out);
        break;
    case GRPC_RECORDING_REFUSED: {
        int32_t id =
            recording__call(s, "/t/repeat", SLICE_LIT("x"), false, out);
        recording__call(s, "/no/method", SLICE_LIT("x"), false, out);
        nghttp2_submit_rst_stream(s, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
        nghttp2_submit_ping(s, NGHTTP2_FLAG_NONE, NULL);
        recording__call(s, "/t/echo", SLICE_EMPTY, false, out);
        break;
    }
    case GRPC_RECORDING_COUNT: break;
    }
}

/* The bytes of conversation @what. Owned. */
static inline struct buf grpc_recording_make(int what)
{
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                                           1 << 20};
    nghttp2_session_callbacks *k;
    nghttp2_session *s;
    struct buf out = BUF_INIT;
    nghttp2_session_callbacks_new(&k);
    nghttp2_session_client_new(&s, k, NULL);
    nghttp2_session_callbacks_del(k);
    nghttp2_submit_settings(s, NGHTTP2_FLAG_NONE, &window, 1);
    recording__flush(s, &out);
    recording__say(s, what, &out);
    nghttp2_session_del(s);
    return out;
}

#endif /* TESTS_LIB_GRPC_RECORDING_H */

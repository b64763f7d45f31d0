/* The HTTP/2 session of a client of gRPC: nghttp2 in memory, its callbacks, and
 * the frames of requests. Answers are kept in a buffer for each call, whose
 * bound ends the call; everything else that a peer can make grow is bounded by
 * nghttp2 itself.
 */
#include "base/grpc/grpc_exchange.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/core/text.h"

/* Bytes that the peer may send before it is given credit. */
#define STREAM_WINDOW_BYTES     (1 << 20)
#define CONNECTION_WINDOW_BYTES (4 << 20)

struct grpc_exchange {
    nghttp2_session *session;
    char *authority;
    bool is_tls;
    bool leaving;
    LIST_HEAD(, grpc_ask) asks;
};

/* --- the end of calls ---------------------------------------------------- */

static void ask_end(struct grpc_ask *a, int failure)
{
    PRE(a->exchange); /* INV-1 */
    LIST_REMOVE(a, link);
    a->exchange = NULL;
    a->failure = a->failure ? a->failure : failure;
    a->wake(a->ctx);
}

/* End the call on this side; the peer is told. */
static void ask_reset(struct grpc_ask *a, int failure)
{
    nghttp2_session *session = a->exchange->session;

    a->failure = failure;
    nghttp2_session_set_stream_user_data(session, a->id, NULL);
    nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, a->id,
                              NGHTTP2_CANCEL);
    ask_end(a, failure);
}

/* --- what comes in ------------------------------------------------------- */

static struct grpc_ask *ask_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

/* grpc-message is percent-encoded; a bad escape stays as it is. */
static void take_text(struct grpc_ask *a, struct slice v)
{
    size_t n = 0;

    for (size_t i = 0; i < v.len && n + 1 < sizeof(a->text); i++) {
        unsigned byte = (unsigned char)v.data[i];
        char digits[3] = "";
        if (byte == '%' && i + 2 < v.len) {
            memcpy(digits, v.data + i + 1, 2);
            if (sscanf(digits, "%2x", &byte) == 1)
                i += 2;
            else
                byte = '%';
        }
        a->text[n++] = byte >= ' ' && byte != 0x7f ? (char)byte : ' ';
    }
    a->text[n] = '\0';
}

static int take_number(struct slice v, int otherwise)
{
    uint64_t n = 0;

    return text_parse_u64(v, &n, NULL) == 0 && n < 1000 ? (int)n : otherwise;
}

static int on_header(nghttp2_session *session,
                     const nghttp2_frame *frame,
                     const uint8_t *name,
                     size_t name_len,
                     const uint8_t *value,
                     size_t value_len,
                     uint8_t flags,
                     void *user)
{
    struct grpc_ask *a = ask_of(session, frame->hd.stream_id);
    struct slice n = slice_make(name, name_len);
    struct slice v = slice_make(value, value_len);

    (void)flags;
    (void)user;
    if (!a)
        return 0;
    if (slice_eq_str(n, ":status"))
        a->http = (unsigned)take_number(v, 599);
    else if (slice_eq_str(n, "grpc-status"))
        a->code = take_number(v, 2); /* UNKNOWN */
    else if (slice_eq_str(n, "grpc-message"))
        take_text(a, v);
    return 0;
}

/* Does what was not taken keep the bound? And is the message that comes next,
 * as far as it is there, not compressed, and not too long? */
static bool is_bearable(const struct grpc_ask *a)
{
    size_t have = a->in.len - a->taken;
    const char *at;

    if (have < GRPC_PREFIX_BYTES)
        return true;
    at = a->in.data + a->taken;
    return have <= a->in_max && at[0] == 0 &&
           get_be32(at + 1) <= a->in_max - GRPC_PREFIX_BYTES;
}

static int on_data(nghttp2_session *session,
                   uint8_t flags,
                   int32_t stream,
                   const uint8_t *data,
                   size_t len,
                   void *user)
{
    struct grpc_ask *a = ask_of(session, stream);

    (void)flags;
    (void)user;
    if (!a)
        return 0;
    if (a->taken > 0 && a->taken >= a->in.len / 2) {
        memmove(a->in.data, a->in.data + a->taken, a->in.len - a->taken);
        buf_truncate(&a->in, a->in.len - a->taken);
        a->taken = 0;
    }
    buf_append(&a->in, data, len);
    if (is_bearable(a))
        a->wake(a->ctx);
    else
        ask_reset(a, ERR_TOOBIG); /* INV-2 */
    return 0;
}

static int
on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
    struct grpc_ask *a = ask_of(session, stream);

    (void)user;
    if (a)
        ask_end(a,
                code == NGHTTP2_NO_ERROR || a->code >= 0 ? 0 : ERR_UNAVAILABLE);
    return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_exchange *x = user;

    (void)session;
    x->leaving |= frame->hd.type == NGHTTP2_GOAWAY;
    return 0;
}

int grpc_exchange_feed(struct grpc_exchange *x,
                       struct slice bytes,
                       struct err *err)
{
    ssize_t n = nghttp2_session_mem_recv(
        x->session, (const uint8_t *)bytes.data, bytes.len);

    if (n < 0)
        return err_set(err, ERR_CORRUPT, "HTTP/2: %s",
                       nghttp2_strerror((int)n));
    if (nghttp2_session_want_read(x->session) ||
        nghttp2_session_want_write(x->session))
        return 0;
    return err_set(err, ERR_CLOSED, "the server has ended the connection");
}

/* --- what goes out ------------------------------------------------------- */

static ssize_t read_request(nghttp2_session *session,
                            int32_t stream,
                            uint8_t *to,
                            size_t len,
                            uint32_t *flags,
                            nghttp2_data_source *source,
                            void *user)
{
    struct grpc_ask *a = ask_of(session, stream);
    size_t n;

    (void)source;
    (void)user;
    if (!a) /* It was given up. */
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    n = MIN_OF(len, a->out.len - a->sent);
    if (n > 0)
        memcpy(to, a->out.data + a->sent, n);
    a->sent += n;
    if (a->sent == a->out.len) {
        buf_clear(&a->out);
        a->sent = 0;
        if (a->out_ends)
            *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    a->out_waits = n == 0 && !a->out_ends;
    return a->out_waits ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

int grpc_exchange_take(struct grpc_exchange *x,
                       size_t most,
                       struct buf *out,
                       struct err *err)
{
    size_t before = out->len;

    while (out->len - before < most) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(x->session, &data);
        if (n < 0)
            return err_set(err, ERR_IO, "HTTP/2: %s", nghttp2_strerror((int)n));
        if (n == 0)
            break;
        buf_append(out, data, (size_t)n);
    }
    return 0;
}

/* --- beginning and end --------------------------------------------------- */

struct grpc_exchange *grpc_exchange_new(const char *authority, bool is_tls)
{
    struct grpc_exchange *x = mem_zalloc(1, sizeof(*x));
    nghttp2_session_callbacks *k;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
    };
    bool ok = nghttp2_session_callbacks_new(&k) == 0;

    if (ok) {
        nghttp2_session_callbacks_set_on_header_callback(k, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(k, on_close);
        nghttp2_session_callbacks_set_on_frame_recv_callback(k, on_frame);
        ok = nghttp2_session_client_new(&x->session, k, x) == 0;
        nghttp2_session_callbacks_del(k);
    }
    if (!ok ||
        nghttp2_submit_settings(x->session, NGHTTP2_FLAG_NONE, settings,
                                ARRAY_LEN(settings)) ||
        nghttp2_session_set_local_window_size(x->session, NGHTTP2_FLAG_NONE, 0,
                                              CONNECTION_WINDOW_BYTES))
        PANIC("nghttp2 has no memory for a session");
    x->authority = mem_strdup(authority);
    x->is_tls = is_tls;
    LIST_INIT(&x->asks);
    return x;
}

void grpc_exchange_free(struct grpc_exchange *x)
{
    if (!x)
        return;
    PRE(LIST_EMPTY(&x->asks));
    nghttp2_session_del(x->session);
    mem_free(x->authority);
    mem_free(x);
}

bool grpc_exchange_is_leaving(const struct grpc_exchange *x)
{
    return x->leaving;
}

void grpc_exchange_end(struct grpc_exchange *x, int failure)
{
    struct grpc_ask *a;

    PRE(failure);
    x->leaving = true;
    while ((a = LIST_FIRST(&x->asks))) {
        nghttp2_session_set_stream_user_data(x->session, a->id, NULL);
        ask_end(a, failure);
    }
}

static nghttp2_nv header_of(const char *name, const char *value)
{
    nghttp2_nv nv;

    memcpy(&nv.name, &name, sizeof(name));
    memcpy(&nv.value, &value, sizeof(value));
    nv.namelen = strlen(name);
    nv.valuelen = strlen(value);
    nv.flags = NGHTTP2_NV_FLAG_NONE;
    return nv;
}

int grpc_ask_begin(struct grpc_exchange *x,
                   struct grpc_ask *a,
                   const char *path,
                   const struct grpc_header *headers,
                   size_t header_count,
                   struct err *err)
{
    const nghttp2_data_provider source = {.read_callback = read_request};
    nghttp2_nv nv[6 + GRPC_HEADERS_MAX];
    size_t count = 0;

    PRE(header_count <= GRPC_HEADERS_MAX && a->wake);
    PRE(a->in_max > GRPC_PREFIX_BYTES);
    if (x->leaving)
        return err_set(err, ERR_UNAVAILABLE, "the server takes no more calls");
    nv[count++] = header_of(":method", "POST");
    nv[count++] = header_of(":scheme", x->is_tls ? "https" : "http");
    nv[count++] = header_of(":path", path);
    nv[count++] = header_of(":authority", x->authority);
    nv[count++] = header_of("content-type", "application/grpc");
    nv[count++] = header_of("te", "trailers");
    for (size_t i = 0; i < header_count; i++)
        nv[count++] = header_of(headers[i].name, headers[i].value);
    a->code = -1;
    a->id = nghttp2_submit_request(x->session, NULL, nv, count, &source, a);
    if (a->id < 0)
        return err_set(err, ERR_UNAVAILABLE, "HTTP/2: %s",
                       nghttp2_strerror(a->id));
    a->exchange = x;
    LIST_INSERT_HEAD(&x->asks, a, link);
    return 0;
}

void grpc_ask_send(struct grpc_ask *a, struct slice message, bool is_last)
{
    PRE(!a->out_ends && message.len <= UINT32_MAX);
    if (!a->exchange)
        return;
    buf_append_fill(&a->out, 0, GRPC_PREFIX_BYTES);
    put_be32(a->out.data + a->out.len - 4, (uint32_t)message.len);
    buf_append_slice(&a->out, message);
    a->out_ends = is_last;
    if (a->out_waits)
        nghttp2_session_resume_data(a->exchange->session, a->id);
    a->out_waits = false;
}

bool grpc_ask_next(struct grpc_ask *a, struct slice *message)
{
    size_t have = a->in.len - a->taken;
    const char *at;
    size_t len;

    if (!is_bearable(a)) {
        if (a->exchange)
            ask_reset(a, ERR_TOOBIG);
        a->failure = ERR_TOOBIG;
        return false;
    }
    if (have < GRPC_PREFIX_BYTES)
        return false;
    at = a->in.data + a->taken;
    len = get_be32(at + 1);
    if (have - GRPC_PREFIX_BYTES < len)
        return false;
    *message = slice_make(at + GRPC_PREFIX_BYTES, len);
    a->taken += GRPC_PREFIX_BYTES + len;
    POST(a->taken <= a->in.len);
    return true;
}

void grpc_ask_close(struct grpc_ask *a)
{
    if (a->exchange)
        ask_reset(a, ERR_CANCELLED);
    buf_close(&a->in);
    buf_close(&a->out);
}

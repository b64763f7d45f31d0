/* The callbacks of the HTTP/2 session of a connection, and its set-up. nghttp2
 * calls this file, grpc_reply.c for the bytes of replies, and session_memory.c
 * for memory, and no other.
 *
 * The session points to a call from the headers of its stream on: as the
 * stream's data, and as the source of the reply's frames. It holds the call for
 * that time (grpc_call.h, INV-2).
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_connection.h"

/* Bytes a peer may send before it is given credit: of a stream, and of all. */
#define STREAM_WINDOW_BYTES     (1 << 20)
#define CONNECTION_WINDOW_BYTES (16 << 20)
#define HEADER_LIST_BYTES_MAX   (64 << 10)
/* Metadata over the limit ends its call; over this, decoded, or in more frames,
 * its connection. */
#define HEADER_BYTES_READ_MAX (16 << 20)
#define HEADER_FRAMES_MAX     256
/* Frames of replies: larger ones save little and delay other streams. */
#define DATA_FRAME_BYTES ((size_t)64 << 10)
/* The caller of a connection is authenticated again after this time. */
#define AUTHENTICATED_NS UINT64_C(10000000000)
/* Streams that clients give up, at once and each second: scans that stop early
 * are among them. More is an attack. */
#define RESETS_BURST      10000
#define RESETS_PER_SECOND 5000
/* The answer to a ping waits so long for a reply to go out with, if calls are
 * under way: clients ping with every reply they get. */
#define PING_WAIT_NS UINT64_C(10000000)

/* --- answers ------------------------------------------------------------- */

/* Answer with a status before any message. */
static void
grpc_session_refuse(struct grpc_call *call, int rc, const struct err *err)
{
    PRE(rc != 0);
    call->refused = true;
    grpc_call_set_status(call, rc, err);
    grpc_reply_status(call);
    grpc_connection_kick(call->connection);
}

/* The request is complete: handle it. */
static void start_call(struct grpc_call *call)
{
    struct err err = ERR_INIT;
    int rc;
    if (!call->method->handle) {
        grpc_each_end(call, 0, &err);
        return;
    }
    rc = grpc_call_complete(call, &err);
    if (rc) {
        grpc_session_refuse(call, rc, &err);
        return;
    }
    grpc_call_start(call);
}

/* --- what comes in ------------------------------------------------------- */

static struct grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
}

static bool was_closed_by_peer(const struct grpc_connection *c, int32_t stream)
{
    for (size_t i = 0; i < ARRAY_LEN(c->closed); i++)
        if (c->closed[i] == stream)
            return true;
    return false;
}

/* A stream that the peer has closed, or skipped, is not used any more. One that
 * this side has closed may be: the peer did not know. */
static int check_stream(const struct grpc_connection *c, int32_t stream)
{
    uint32_t code = NGHTTP2_NO_ERROR;
    if (stream > c->last_stream ||
        nghttp2_session_find_stream(c->session, stream))
        return 0;
    if (was_closed_by_peer(c, stream))
        code = NGHTTP2_STREAM_CLOSED;
    else if (stream >= c->skipped_first && stream < c->skipped_end)
        code = NGHTTP2_PROTOCOL_ERROR;
    return code ? nghttp2_session_terminate_session(c->session, code) : 0;
}

static int
on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *user)
{
    (void)session;
    return hd->type == NGHTTP2_HEADERS ? check_stream(user, hd->stream_id) : 0;
}

static void note_stream(struct grpc_connection *c, int32_t stream)
{
    if (stream > c->last_stream + 2) {
        c->skipped_first = c->last_stream + 1;
        c->skipped_end = stream;
    }
    c->last_stream = stream;
}

/* Who closed it? */
static void note_closed(struct grpc_connection *c, int32_t stream)
{
    if (c->reset_stream != stream &&
        nghttp2_session_get_stream_remote_close(c->session, stream) != 1)
        return;
    c->closed[c->closed_at++ % ARRAY_LEN(c->closed)] = stream;
}

static int on_begin_headers(nghttp2_session *session,
                            const nghttp2_frame *frame,
                            void *user)
{
    struct grpc_connection *c = user;
    struct grpc_call *call;
    if (frame->hd.type != NGHTTP2_HEADERS ||
        frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    note_stream(c, frame->hd.stream_id);
    /* Calls whose stream is closed but which still run count as well. */
    if (c->call_count >= (size_t)c->server->options.calls_max * 2) {
        (void)!nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE,
                                         frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    call = grpc_connection_add_call(c, frame->hd.stream_id);
    if (nghttp2_session_set_stream_user_data(session, frame->hd.stream_id,
                                             call))
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    INVARIANT(call->holders == GRPC_HOLDER_SESSION); /* INV-2 */
    return 0;
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
    struct grpc_call *call = call_of(session, frame->hd.stream_id);
    (void)flags;
    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS ||
        frame->headers.cat != NGHTTP2_HCAT_REQUEST || !call)
        return 0;
    call->header_bytes += name_len + value_len + 32;
    if (call->header_bytes > HEADER_BYTES_READ_MAX)
        return NGHTTP2_ERR_CALLBACK_FAILURE; /* Ends the connection. */
    if (call->header_bytes > HEADER_LIST_BYTES_MAX)
        return 0; /* Decoded, as the next ones need it, and not kept. */
    grpc_call_take_header(call, slice_make(name, name_len),
                          slice_make(value, value_len));
    return 0;
}

/* Clients say the same with each call: what was found is good for a while. */
static bool is_same_caller(const struct grpc_connection *c,
                           const struct grpc_call *call)
{
    return *c->principal &&
           slice_eq(buf_slice(&c->authorization),
                    buf_slice(&call->authorization)) &&
           c->read_ns - c->principal_ns < AUTHENTICATED_NS;
}

static bool is_open(const struct grpc_call *call)
{
    const char *open = call->server->options.open_paths;
    return open && call->method &&
           slice_starts_with(slice_str(call->method->path), slice_str(open));
}

static int grpc_session_authenticate(struct grpc_call *call, struct err *err)
{
    const struct grpc_options *o = &call->server->options;
    struct grpc_connection *c = call->connection;
    int rc = 0;
    if (!o->authenticate || is_open(call))
        return 0;
    if (!is_same_caller(c, call)) {
        *c->principal = '\0';
        rc =
            o->authenticate(o->ctx, slice_str(c->certificate),
                            buf_slice(&call->authorization), c->principal, err);
        buf_clear(&c->authorization);
        buf_append_slice(&c->authorization, buf_slice(&call->authorization));
        c->principal_ns = c->read_ns;
    }
    if (rc)
        *c->principal = '\0';
    memcpy(call->principal, c->principal, sizeof(call->principal));
    return rc;
}

static void
refuse_unauthenticated(struct grpc_call *call, int rc, const struct err *err)
{
    struct grpc_connection *c = call->connection;
    metric_add(call->server->unauthenticated, 1);
    grpc_connection_log(c, "refused", err->text);
    grpc_set_code(call, GRPC_UNAUTHENTICATED);
    grpc_session_refuse(call, rc, err);
    grpc_audit_refusal(call);
}

/* All headers of a request are there. */
static void begin_request(struct grpc_call *call)
{
    struct err err = ERR_INIT;
    int rc;
    if (call->connection->turned_away) {
        grpc_session_refuse(call, ERR_EXHAUSTED, &call->connection->why);
        grpc_connection_leave(call->connection, NULL);
    } else if (call->header_bytes > HEADER_LIST_BYTES_MAX) {
        err_set(&err, ERR_EXHAUSTED, "the metadata has more than %d bytes",
                HEADER_LIST_BYTES_MAX);
        grpc_session_refuse(call, ERR_EXHAUSTED, &err);
    } else if (!call->is_post || !call->is_grpc) {
        call->refused = true; /* Told once the request has ended. */
    } else if ((rc = grpc_session_authenticate(call, &err))) {
        refuse_unauthenticated(call, rc, &err);
    } else if (!call->method) {
        err_set(&err, ERR_UNSUPPORTED, "unknown method %.*s",
                SLICE_ARG(buf_slice(&call->text)));
        grpc_session_refuse(call, ERR_UNSUPPORTED, &err);
    } else if (call->refused) {
        err_set(&err, ERR_UNSUPPORTED, "the encoding of the message");
        err_hint(&err, "identity or gzip");
        grpc_session_refuse(call, ERR_UNSUPPORTED, &err);
    }
}

int grpc_session_answer_ping(struct grpc_connection *c)
{
    PRE(c->has_ping);
    c->has_ping = false;
    return nghttp2_submit_ping(c->session, NGHTTP2_FLAG_ACK, c->ping);
}

static int take_ping(struct grpc_connection *c, const nghttp2_ping *ping)
{
    if (ping->hd.flags & NGHTTP2_FLAG_ACK)
        return 0;
    if (c->has_ping && grpc_session_answer_ping(c))
        return NGHTTP2_ERR_CALLBACK_FAILURE; /* Nothing but pings. */
    c->has_ping = true;
    memcpy(c->ping, ping->opaque_data, sizeof(c->ping));
    c->ping_until_ns = world_mono_ns(c->server->world) + PING_WAIT_NS;
    return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct grpc_connection *c = user;
    struct grpc_call *call = NULL;
    c->spoke = true;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        c->reset_stream = frame->hd.stream_id;
    if (frame->hd.type == NGHTTP2_PING)
        return take_ping(c, &frame->ping);
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
        call = call_of(session, frame->hd.stream_id);
    if (!call)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS &&
        frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        begin_request(call);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        grpc_connection_end_request(call);
        if (!call->refused)
            start_call(call);
        else if (!call->responded)
            grpc_reply_http_error(call, call->is_post ? "415" : "405");
    }
    return 0;
}

static int on_data(nghttp2_session *session,
                   uint8_t flags,
                   int32_t stream,
                   const uint8_t *data,
                   size_t len,
                   void *user)
{
    struct grpc_call *call = call_of(session, stream);
    struct err err = ERR_INIT;
    int rc;
    (void)flags;
    (void)user;
    if (!call || call->refused)
        return 0;
    if (!call->method->handle) {
        rc = grpc_each_take(call, slice_make(data, len), &err);
        if (rc)
            grpc_each_end(call, rc, &err);
        return 0;
    }
    rc = grpc_call_take(call, slice_make(data, len), &err);
    if (rc)
        grpc_session_refuse(call, rc, &err);
    return 0;
}

static int on_stream_close(nghttp2_session *session,
                           int32_t stream,
                           uint32_t code,
                           void *user)
{
    struct grpc_call *call = call_of(session, stream);
    (void)code;
    note_closed(user, stream);
    if (!call)
        return 0;
    grpc_call_abandon(call);
    grpc_call_release(call, GRPC_HOLDER_SESSION); /* INV-2 */
    return 0;
}

/* A call answered before its request had ended: the client is told to stop. */
static int
on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    int32_t stream = frame->hd.stream_id;
    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        nghttp2_session_get_stream_remote_close(session, stream) != 0)
        return 0;
    (void)!nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream,
                                     NGHTTP2_NO_ERROR);
    return 0;
}

static ssize_t frame_bytes(nghttp2_session *session,
                           uint8_t type,
                           int32_t stream,
                           int32_t connection_window,
                           int32_t stream_window,
                           uint32_t frame_bytes_max,
                           void *user)
{
    size_t n = MIN_OF(DATA_FRAME_BYTES, (size_t)frame_bytes_max);
    (void)session;
    (void)type;
    (void)stream;
    (void)user;
    n = MIN_OF(n, (size_t)connection_window);
    return (ssize_t)MIN_OF(n, (size_t)stream_window);
}

/* --- the session --------------------------------------------------------- */

static nghttp2_session_callbacks *make_callbacks(void)
{
    nghttp2_session_callbacks *k;
    if (nghttp2_session_callbacks_new(&k))
        PANIC("out of memory");
    nghttp2_session_callbacks_set_on_begin_frame_callback(k, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(k,
                                                            on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(k, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(k, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(k, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(k, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(k, on_frame_sent);
    nghttp2_session_callbacks_set_send_data_callback(k, grpc_reply_put_frame);
    nghttp2_session_callbacks_set_data_source_read_length_callback(k,
                                                                   frame_bytes);
    return k;
}

/* --- bytes --------------------------------------------------------------- */

static int grpc_session_feed_nghttp2(struct grpc_connection *c,
                                     struct slice bytes)
{
    ssize_t n = nghttp2_session_mem_recv(
        c->session, (const uint8_t *)bytes.data, bytes.len);
    return n < 0 ? (int)n : 0;
}

/* Bytes before a DATA frame are received first: they may close its stream. */
int grpc_session_receive(struct grpc_connection *c, struct slice bytes)
{
    int rc = 0;
    while (rc == 0 && bytes.len) {
        enum grpc_frame_event event;
        size_t n = grpc_frames_watch(&c->frames, bytes, &event);
        size_t at = event == GRPC_FRAME_DATA ? c->frames.event_at : 0;
        if (event == GRPC_FRAME_BAD_PRIORITY)
            rc = nghttp2_session_terminate_session(c->session,
                                                   NGHTTP2_PROTOCOL_ERROR);
        if (at)
            rc = grpc_session_feed_nghttp2(c, slice_sub(bytes, 0, at));
        if (rc == 0 && event == GRPC_FRAME_DATA)
            rc = check_stream(c, c->frames.stream);
        if (rc == 0)
            rc = grpc_session_feed_nghttp2(c, slice_sub(bytes, at, n));
        bytes = slice_sub(bytes, n, bytes.len);
    }
    return rc;
}

/* --- slow and silent peers ----------------------------------------------- */

void grpc_session_ping(struct grpc_connection *c, uint64_t now_ns)
{
    if (nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL))
        return;
    c->pinged_ns = now_ns;
    grpc_connection_kick(c);
}

void grpc_session_refuse_slow(struct grpc_call *call)
{
    struct err err = ERR_INIT;
    int rc = err_set(&err, ERR_DEADLINE, "the request did not come in time");
    grpc_session_refuse(call, rc, &err);
}

void grpc_session_reset_slow(struct grpc_call *call)
{
    struct grpc_connection *c = call->connection;
    grpc_connection_log(c, "call ended", "its client does not take the reply");
    (void)!nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE,
                                     call->stream, NGHTTP2_CANCEL);
    grpc_connection_kick(c);
}

static int submit_settings(struct grpc_connection *c)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, c->server->options.calls_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_LIST_BYTES_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    int rc = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
                                     ARRAY_LEN(settings));
    if (rc == 0)
        rc = nghttp2_session_set_local_window_size(
            c->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW_BYTES);
    return rc;
}

int grpc_session_open(struct grpc_connection *c)
{
    nghttp2_session_callbacks *callbacks = make_callbacks();
    nghttp2_mem memory = session_memory_of(&c->memory);
    nghttp2_option *option;
    int rc;
    if (nghttp2_option_new(&option))
        PANIC("out of memory");
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_continuations(option, HEADER_FRAMES_MAX);
    nghttp2_option_set_no_auto_ping_ack(option, 1);
    nghttp2_option_set_stream_reset_rate_limit(option, RESETS_BURST,
                                               RESETS_PER_SECOND);
    rc =
        nghttp2_session_server_new3(&c->session, callbacks, c, option, &memory);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (rc == 0)
        rc = submit_settings(c);
    if (rc == 0)
        return 0;
    nghttp2_session_del(c->session);
    session_memory_close(&c->memory);
    return ERR_EXHAUSTED;
}

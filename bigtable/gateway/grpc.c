/* One connection of HTTP/2, on nghttp2.
 *
 * Two fibers: the one of the connection reads bytes and feeds the session,
 * whose callbacks make calls and start a fiber for each that is complete; the
 * writer takes what the session wants to send and writes it. Nothing parks
 * inside the session, so that fibers of the loop may all touch it.
 *
 * Invariants
 *     I1. Every call on the list has a stream, or a fiber, or is in a crowd.
 *     I2. The connection ends after its calls.
 *     I3. Only the writer puts bytes into `out`.
 */
#include <nghttp2/nghttp2.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/vars.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_connection.h"

/* What a peer may send unasked: of one stream, and of all of them. */
#define STREAM_WINDOW_BYTES     (1 << 20)
#define CONNECTION_WINDOW_BYTES (16 << 20)
#define HEADER_LIST_BYTES_MAX   (64 << 10)
#define HEADER_COUNT_MAX        128
/* Frames of replies: larger ones save little and delay other streams. */
#define DATA_FRAME_BYTES ((size_t)64 << 10)
/* One read. */
#define READ_BYTES ((size_t)128 << 10)
/* Streams that clients give up, at once and each second: scans that stop early
 * are among them. More is an attack. */
#define RESETS_BURST      10000
#define RESETS_PER_SECOND 5000
/* The answer to a ping waits so long for a reply to go out with, if calls are
 * under way: clients ping with every reply they get. */
#define PING_WAIT_NS UINT64_C(10000000)
/* Waking up costs about as much as a call. So what a client with many calls
 * under way sends may gather before it is read: for so long for each of them,
 * which is less than what the client and the server take for one. */
#define GATHER_NS_PER_CALL UINT64_C(24000)
#define GATHER_NS_MAX      UINT64_C(1500000)
/* For the last bytes of a connection that ends. */
#define LAST_WRITE_US UINT64_C(1000000)

void grpc_connection_kick(struct grpc_connection *c)
{
    if (c->kicked || !c->writer)
        return;
    c->kicked = true;
    fiber_wake(c->writer);
}

/* --- calls on their connection ----------------------------------------- */

static struct grpc_call *add_call(struct grpc_connection *c, int32_t stream)
{
    struct grpc_call *call = grpc_call_new(c->server);
    call->connection = c;
    call->stream = stream;
    call->next = c->calls;
    call->prev = NULL;
    if (c->calls)
        c->calls->prev = call;
    c->calls = call;
    c->call_count++;
    call->receiving = true;
    c->receiving_count++;
    return call;
}

void grpc_connection_drop(struct grpc_call *call)
{
    struct grpc_connection *c = call->connection;
    if (call->prev)
        call->prev->next = call->next;
    else
        c->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    c->call_count--;
    grpc_call_free(call);
    if (c->ending && c->call_count == 0)
        fiber_wake(c->fiber);
}

/* No more of the request comes. */
static void end_request(struct grpc_call *call)
{
    call->connection->receiving_count -= call->receiving;
    call->receiving = false;
}

/* The stream lets go of its call. */
static void detach_stream(struct grpc_call *call)
{
    call->stream = 0;
    end_request(call);
    call->connection->replying_count -= call->replying;
    if (call->together)
        return; /* Its fiber is that of others as well. */
    if (call->fiber)
        fiber_cancel(call->fiber);
    else
        grpc_connection_drop(call);
}

/* --- answers ------------------------------------------------------------ */

void grpc_connection_resume(struct grpc_call *call)
{
    if (!call->stream)
        return;
    if (!call->responded)
        grpc_reply_begin(call);
    else if (call->deferred)
        (void)!nghttp2_session_resume_data(call->connection->session,
                                           call->stream);
    call->deferred = false;
    grpc_connection_kick(call->connection);
}

/* Answer with a status before any message. */
static void refuse(struct grpc_call *call, int rc, const struct err *err)
{
    call->refused = true;
    grpc_call_set_status(call, rc, err);
    grpc_reply_status(call);
    grpc_connection_kick(call->connection);
}

/* The request is complete: handle it. */
static void start_call(struct grpc_call *call)
{
    struct err err = ERR_INIT;
    int rc = grpc_call_complete(call, &err);
    if (rc) {
        refuse(call, rc, &err);
        return;
    }
    grpc_call_start(call);
}

/* --- what comes in ------------------------------------------------------ */

static struct grpc_call *call_of(nghttp2_session *session, int32_t stream)
{
    return nghttp2_session_get_stream_user_data(session, stream);
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
    /* Calls whose stream is closed but which still run count as well. */
    if (c->call_count >= (size_t)c->server->options.calls_max * 2) {
        (void)!nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE,
                                         frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    call = add_call(c, frame->hd.stream_id);
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, call);
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
    if (call->header_bytes > HEADER_LIST_BYTES_MAX)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* Resets the stream. */
    grpc_call_take_header(call, slice_make(name, name_len),
                          slice_make(value, value_len));
    return 0;
}

/* All headers of a request are there. */
static void begin_request(struct grpc_call *call)
{
    struct err err = ERR_INIT;
    if (!call->is_post) {
        grpc_reply_http_error(call, "405");
    } else if (!call->is_grpc) {
        grpc_reply_http_error(call, "415");
    } else if (!call->method) {
        err_set(&err, ERR_UNSUPPORTED, "unknown method %.*s",
                SLICE_ARG(buf_slice(&call->text)));
        refuse(call, ERR_UNSUPPORTED, &err);
    } else if (call->refused) {
        err_set(&err, ERR_UNSUPPORTED, "the encoding of the message");
        err_hint(&err, "identity or gzip");
        refuse(call, ERR_UNSUPPORTED, &err);
    }
}

static int answer_ping(struct grpc_connection *c)
{
    c->has_ping = false;
    return nghttp2_submit_ping(c->session, NGHTTP2_FLAG_ACK, c->ping);
}

static int take_ping(struct grpc_connection *c, const nghttp2_ping *ping)
{
    if (ping->hd.flags & NGHTTP2_FLAG_ACK)
        return 0;
    if (c->has_ping && answer_ping(c))
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
        end_request(call);
        if (!call->refused)
            start_call(call);
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
    rc = grpc_call_take(call, slice_make(data, len), &err);
    if (rc)
        refuse(call, rc, &err);
    return 0;
}

static int on_stream_close(nghttp2_session *session,
                           int32_t stream,
                           uint32_t code,
                           void *user)
{
    struct grpc_call *call = call_of(session, stream);
    (void)code;
    (void)user;
    if (call)
        detach_stream(call);
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

/* --- the session -------------------------------------------------------- */

static nghttp2_session_callbacks *make_callbacks(void)
{
    nghttp2_session_callbacks *k;
    if (nghttp2_session_callbacks_new(&k))
        PANIC("out of memory");
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

static void submit_settings(struct grpc_connection *c)
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
    INVARIANT(rc == 0);
}

static void open_session(struct grpc_connection *c)
{
    nghttp2_session_callbacks *callbacks = make_callbacks();
    nghttp2_mem memory = session_memory_of(&c->memory);
    nghttp2_option *option;
    if (nghttp2_option_new(&option))
        PANIC("out of memory");
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_no_auto_ping_ack(option, 1);
    nghttp2_option_set_stream_reset_rate_limit(option, RESETS_BURST,
                                               RESETS_PER_SECOND);
    if (nghttp2_session_server_new3(&c->session, callbacks, c, option, &memory))
        PANIC("out of memory");
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    submit_settings(c);
}

/* --- writing ------------------------------------------------------------ */

/* Take what the session wants to send, up to about GRPC_WRITE_BYTES. False: it
 * gave up. */
static bool fill(struct grpc_connection *c)
{
    while (c->out.len < GRPC_WRITE_BYTES) {
        const uint8_t *data;
        ssize_t n = nghttp2_session_mem_send(c->session, &data);
        if (n < 0)
            return false;
        if (n == 0)
            break;
        buf_append(&c->out, data, (size_t)n);
    }
    return true;
}

/* May the answer to a ping wait for something else to be sent? */
static bool may_ping_wait(const struct grpc_connection *c)
{
    return c->call_count > 0 && !c->ending &&
           !nghttp2_session_want_write(c->session) &&
           world_mono_ns(c->server->world) < c->ping_until_ns;
}

/* Write until nothing is left to be sent. */
static bool flush(struct grpc_connection *c)
{
    if (c->has_ping && !may_ping_wait(c) && answer_ping(c))
        return false;
    for (;;) {
        struct slice part;
        int rc;
        if (!fill(c))
            return false;
        if (c->out.len == 0)
            return true;
        part = buf_slice(&c->out);
        rc = stream_write(c->io, &part, 1, NULL);
        buf_clear(&c->out);
        if (rc)
            return false;
    }
}

/* Park until there may be something to write. */
static void await_kick(struct grpc_connection *c)
{
    if (!c->has_ping)
        fiber_park();
    else if (!fiber_park_until(c->ping_until_ns))
        c->kicked = true;
}

static void run_writer(void *arg)
{
    struct grpc_connection *c = arg;
    while (!c->broken && !c->ending) {
        if (!c->kicked) {
            await_kick(c);
            continue;
        }
        c->kicked = false;
        c->broken = !flush(c);
    }
    if (c->broken && !c->ending)
        fiber_cancel(c->fiber);
}

/* --- reading ------------------------------------------------------------ */

/* For how long after the last read may more gather? Not where a reply may wait
 * for it, or the rest of a request, nor behind a read that did not take
 * everything. */
static uint64_t gather_ns(const struct grpc_connection *c)
{
    if (c->call_count < GRPC_BUSY_CALLS || c->replying_count ||
        c->receiving_count || c->read_bytes == READ_BYTES)
        return 0;
    return MIN_OF(c->call_count * GATHER_NS_PER_CALL, GATHER_NS_MAX);
}

/* Let bytes gather for @ns after the last read. */
static int let_gather(struct grpc_connection *c, uint64_t ns)
{
    uint64_t until = c->read_ns + ns;
    int rc = 0;
    while (rc == 0 && !c->broken && world_mono_ns(c->server->world) < until) {
        fiber_park_until(until);
        rc = fiber_check(NULL);
    }
    return rc;
}

static int read_some(struct grpc_connection *c, char *room)
{
    uint64_t ns = gather_ns(c);
    ssize_t taken;
    int rc = ns ? let_gather(c, ns) : 0;
    if (rc == 0)
        rc = stream_read(c->io, room, READ_BYTES, &c->read_bytes, NULL);
    if (rc)
        return rc;
    if (c->read_bytes == 0)
        return ERR_CLOSED;
    c->read_ns = world_mono_ns(c->server->world);
    taken = nghttp2_session_mem_recv(c->session, (const uint8_t *)room,
                                     c->read_bytes);
    grpc_crowd_start(c);
    grpc_connection_kick(c);
    if (taken < 0 || !nghttp2_session_want_read(c->session))
        return ERR_CLOSED;
    if (c->spoke)
        fiber_set_deadline(0);
    return 0;
}

static void read_all(struct grpc_connection *c)
{
    char *room = mem_alloc(READ_BYTES);
    int rc = 0;
    fiber_set_deadline(world_mono_ns(c->server->world) +
                       c->server->options.handshake_us * 1000);
    while (rc == 0 && !c->broken)
        rc = read_some(c, room);
    mem_free(room);
}

/* --- the connection ----------------------------------------------------- */

static void leave_list(struct grpc_connection *c)
{
    struct grpc_server *server = c->server;
    if (c->prev)
        c->prev->next = c->next;
    else
        server->connections = c->next;
    if (c->next)
        c->next->prev = c->prev;
    server->connection_count--;
    if (server->closer)
        fiber_wake(server->closer);
}

/* Calls that still run are cancelled and end first. */
static void end_calls(struct grpc_connection *c)
{
    struct grpc_call *next;
    for (struct grpc_call *call = c->calls; call; call = next) {
        next = call->next;
        if (call->stream)
            detach_stream(call);
    }
    while (c->call_count)
        fiber_park();
}

/* The writer has ended; say what the session still has to say (GOAWAY). */
static void say_goodbye(struct grpc_connection *c)
{
    if (c->broken)
        return;
    fiber_set_deadline(world_mono_ns(c->server->world) + LAST_WRITE_US * 1000);
    (void)!flush(c);
}

static void run_connection(void *arg)
{
    struct grpc_connection *c = arg;
    c->writer = fiber_start(c->server->loop, "grpc writer", run_writer, c);
    grpc_connection_kick(c);
    read_all(c);
    c->ending = true;
    fiber_cancel(c->writer);
    fiber_join(c->writer);
    c->writer = NULL;
    end_calls(c);
    say_goodbye(c);
    grpc_crowd_free(c->crowd);
    nghttp2_session_del(c->session);
    session_memory_close(&c->memory);
    stream_close(c->io);
    leave_list(c);
    buf_close(&c->out);
    mem_free(c);
}

void grpc_connection_start(struct grpc_server *server, struct stream *s)
{
    struct grpc_connection *c = mem_zalloc(1, sizeof(*c));
    c->server = server;
    c->io = s;
    open_session(c);
    c->next = server->connections;
    if (c->next)
        c->next->prev = c;
    server->connections = c;
    server->connection_count++;
    if (server->connections_var)
        var_add(server->connections_var, 1);
    c->fiber = fiber_start(server->loop, "grpc connection", run_connection, c);
    fiber_detach(c->fiber);
}

struct grpc_connection *grpc_connection_next(const struct grpc_connection *c)
{
    return c->next;
}

void grpc_connection_drain(struct grpc_connection *c)
{
    (void)!nghttp2_submit_goaway(
        c->session, NGHTTP2_FLAG_NONE,
        nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR,
        NULL, 0);
    grpc_connection_kick(c);
}

void grpc_connection_cancel(struct grpc_connection *c)
{
    fiber_cancel(c->fiber);
}

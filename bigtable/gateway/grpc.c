/* One connection of HTTP/2, on nghttp2.
 *
 * Two fibers: the one of the connection reads bytes and feeds the session,
 * whose callbacks (grpc_session.c) make calls and start fibers for those that
 * are complete (grpc_run.c); the writer takes what the session wants to send
 * and writes it. Nothing parks inside the session, so that fibers of the loop
 * may all touch it.
 *
 * The end, in this order: no more is read, the writer ends, running calls are
 * cancelled and awaited, what the session still has to say is written, the
 * session is deleted, which releases the calls it held, and then the rest goes.
 */
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/grpc_connection.h"

/* A connection may use one part in two of the server's budget. */
#define CONNECTION_SHARE 2
/* Memory of the HTTP/2 session of a connection. */
#define SESSION_BYTES_MAX ((size_t)16 << 20)
/* One read. */
#define READ_BYTES ((size_t)128 << 10)
/* Waking up costs about as much as a call. So the bytes of a client with many
 * calls in flight may gather before they are read: for this time for each call,
 * which is less than a call takes at the client and the server. */
#define GATHER_NS_PER_CALL UINT64_C(24000)
#define GATHER_NS_MAX      UINT64_C(1500000)
/* For the last bytes of a connection that ends. */
#define LAST_WRITE_US UINT64_C(1000000)

void grpc_connection_kick(struct grpc_connection *c)
{
    if (c->kicked || !c->writer || c->broken || c->leaving)
        return; /* The writer is awake, or has ended. */
    c->kicked = true;
    fiber_wake(c->writer);
}

struct grpc_budget *grpc_connection_budget(struct grpc_connection *c)
{
    return &c->budget;
}

/* --- calls on their connection ------------------------------------------- */

struct grpc_call *grpc_connection_add_call(struct grpc_connection *c,
                                           int32_t stream)
{
    struct grpc_call *call = grpc_call_new(c->server, c);
    call->stream = stream;
    call->next = c->calls;
    call->prev = NULL;
    if (c->calls)
        c->calls->prev = call;
    c->calls = call;
    c->call_count++;
    call->begun_ns = c->read_ns;
    call->receiving = true;
    c->receiving_count++;
    grpc_call_hold(call, GRPC_HOLDER_SESSION);
    return call;
}

void grpc_connection_end_request(struct grpc_call *call)
{
    INVARIANT(call->connection->receiving_count >= call->receiving);
    call->connection->receiving_count -= call->receiving;
    call->receiving = false;
}

/* INV-1: nobody holds it any more. */
static void remove_call(struct grpc_call *call)
{
    struct grpc_connection *c = call->connection;
    if (call->prev)
        call->prev->next = call->next;
    else
        c->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    INVARIANT(c->call_count > 0);
    if (--c->call_count == 0)
        c->idle_ns = world_mono_ns(c->server->world);
    grpc_call_free(call);
}

void grpc_call_release(struct grpc_call *call, enum grpc_holder holder)
{
    struct grpc_connection *c = call->connection;
    PRE(call->holders & holder);
    call->holders &= ~(unsigned)holder;
    if (holder == GRPC_HOLDER_FIBER && c->ending)
        fiber_wake(c->fiber);
    if (call->holders == 0)
        remove_call(call);
}

void grpc_call_abandon(struct grpc_call *call)
{
    if (call->abandoned)
        return;
    call->abandoned = true;
    grpc_connection_end_request(call);
    INVARIANT(call->connection->replying_count >= call->replying);
    call->connection->replying_count -= call->replying;
    if (call->fiber && !call->together) /* A shared fiber serves other calls. */
        fiber_cancel(call->fiber);
    else if (call->fiber && call->waiting)
        fiber_wake(call->fiber);
}

/* --- answers ------------------------------------------------------------- */

void grpc_connection_resume(struct grpc_call *call)
{
    if (call->abandoned)
        return; /* INV-5 */
    if (!call->responded)
        grpc_reply_begin(call);
    else if (call->deferred)
        (void)!nghttp2_session_resume_data(call->connection->session,
                                           call->stream);
    call->deferred = false;
    grpc_connection_kick(call->connection);
}

/* --- writing ------------------------------------------------------------- */

/* Take what the session wants to send, up to about GRPC_WRITE_BYTES. False: it
 * gave up. */
static bool grpc_connection_fill(struct grpc_connection *c)
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
static bool grpc_connection_flush(struct grpc_connection *c)
{
    if (c->has_ping && !may_ping_wait(c) && grpc_session_answer_ping(c))
        return false;
    for (;;) {
        struct slice part;
        int rc;
        if (!grpc_connection_fill(c))
            return false;
        if (c->out.len == 0)
            return true;
        part = buf_slice(&c->out);
        c->writing_ns = world_mono_ns(c->server->world);
        rc = stream_write(c->io, &part, 1, NULL);
        c->writing_ns = 0;
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

/* The session has nothing more to say or to hear: the peer is told by the end
 * of the stream, and has a moment to end it, too. Closed at once, what it still
 * sends would reset the connection before it reads why. */
static void begin_leaving(struct grpc_connection *c)
{
    if (c->leaving_ns == 0)
        c->leaving_ns = world_mono_ns(c->server->world);
    c->leaving = true;
    stream_end_writing(c->io);
}

static bool is_done(const struct grpc_connection *c)
{
    return !nghttp2_session_want_read(c->session) &&
           !nghttp2_session_want_write(c->session) && c->out.len == 0;
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
        c->broken = !grpc_connection_flush(c);
        if (!c->broken && is_done(c)) {
            begin_leaving(c);
            return;
        }
    }
    if (c->broken && !c->ending)
        fiber_cancel(c->fiber);
}

/* --- reading ------------------------------------------------------------- */

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
    int taken;
    int rc = ns ? let_gather(c, ns) : 0;
    if (rc == 0)
        rc = stream_read(c->io, room, READ_BYTES, &c->read_bytes, NULL);
    if (rc)
        return rc;
    if (c->read_bytes == 0)
        return ERR_CLOSED;
    c->read_ns = world_mono_ns(c->server->world);
    c->pinged_ns = 0;
    if (c->leaving)
        return 0; /* Read to its end, and not believed. */
    taken = grpc_session_receive(c, slice_make(room, c->read_bytes));
    grpc_crowd_start(c);
    grpc_connection_kick(c);
    if (taken < 0) {
        c->failed = true;
        grpc_connection_log(c, "ended", nghttp2_strerror(taken));
        return ERR_CLOSED;
    }
    if (c->spoke && !c->turned_away)
        fiber_set_deadline(0);
    return 0;
}

static void read_all(struct grpc_connection *c)
{
    char *room = mem_alloc(READ_BYTES);
    int rc = 0;
    while (rc == 0 && !c->broken)
        rc = read_some(c, room);
    mem_free(room);
}

/* --- the connection ------------------------------------------------------ */

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

static bool has_running_call(const struct grpc_connection *c)
{
    for (const struct grpc_call *call = c->calls; call; call = call->next)
        if (call->holders & GRPC_HOLDER_FIBER)
            return true;
    return false;
}

/* Nobody waits for calls that still run: cancel them and wait for their ends.
 * Those that have ended may still be sent. */
static void end_running_calls(struct grpc_connection *c)
{
    for (struct grpc_call *call = c->calls; call; call = call->next)
        if (!call->finished && !call->refused)
            grpc_call_abandon(call);
    while (has_running_call(c))
        fiber_park();
}

/* INV-2: it points to no call any more. */
static void delete_session(struct grpc_connection *c)
{
    struct grpc_call *next;
    nghttp2_session_del(c->session);
    c->session = NULL;
    for (struct grpc_call *call = c->calls; call; call = next) {
        next = call->next;
        grpc_call_abandon(call);
        grpc_call_release(call, GRPC_HOLDER_SESSION);
    }
    INVARIANT(!c->calls && c->call_count == 0); /* INV-6 */
    session_memory_close(&c->memory);
}

/* The session has failed and cannot say it: ENHANCE_YOUR_CALM. */
static void put_goaway(struct grpc_connection *c)
{
    static const char frame[] = {
        0, 0, 8, NGHTTP2_GOAWAY,           0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, NGHTTP2_ENHANCE_YOUR_CALM};
    struct slice part = slice_make(frame, sizeof(frame));
    (void)!stream_write(c->io, &part, 1, NULL);
}

/* The writer has ended; say what the session still has to say (GOAWAY). */
static void say_goodbye(struct grpc_connection *c)
{
    if (c->broken || c->leaving)
        return;
    fiber_set_deadline(world_mono_ns(c->server->world) + LAST_WRITE_US * 1000);
    if (c->failed)
        put_goaway(c);
    else
        (void)!grpc_connection_flush(c);
}

/* With TLS the peer's name comes from there. On error there is no stream. */
static int shake_hands(struct grpc_connection *c)
{
    const struct tls_context *tls = c->server->options.tls;
    struct stream *io = c->io;
    struct err err = ERR_INIT;
    int rc = 0;
    fiber_set_deadline(world_mono_ns(c->server->world) +
                       c->server->options.handshake_us * 1000);
    if (tls)
        rc = tls_accept(tls, &io, &err);
    c->io = io;
    if (rc == 0 && tls)
        tls_peer_name(io, c->certificate, sizeof(c->certificate));
    else if (rc)
        grpc_log(c->server, "refused", "a TLS handshake failed", err.text);
    return rc;
}

static void grpc_connection_serve(struct grpc_connection *c)
{
    c->writer = fiber_start(c->server->loop, "grpc writer", run_writer, c);
    grpc_connection_kick(c);
    read_all(c);
    c->ending = true;
    fiber_cancel(c->writer);
    fiber_join(c->writer);
    c->writer = NULL;
    end_running_calls(c);
    say_goodbye(c);
    grpc_crowd_free(c->crowd);
}

static void run_connection(void *arg)
{
    struct grpc_connection *c = arg;
    if (shake_hands(c) == 0)
        grpc_connection_serve(c);
    delete_session(c);
    stream_close(c->io);
    leave_list(c);
    buf_close(&c->out);
    buf_close(&c->authorization);
    INVARIANT(c->budget.used == 0 && c->session_budget.used == 0);
    mem_free(c);
}

void grpc_connection_start(struct grpc_server *server,
                           struct stream *s,
                           const struct err *why)
{
    struct grpc_connection *c = mem_zalloc(1, sizeof(*c));
    int rc;
    c->server = server;
    c->io = s;
    c->budget = (struct grpc_budget){.max = server->options.buffered_bytes_max /
                                            CONNECTION_SHARE,
                                     .within = &server->budget};
    c->session_budget = (struct grpc_budget){.max = SESSION_BYTES_MAX,
                                             .within = &server->session_budget};
    c->memory.budget = &c->session_budget;
    rc = grpc_session_open(c);
    if (rc) {
        stream_close(s);
        mem_free(c);
        return;
    }
    c->next = server->connections;
    if (c->next)
        c->next->prev = c;
    server->connections = c;
    server->connection_count++;
    metric_add(server->accepted, 1);
    c->local = stream_is_local(s);
    c->read_ns = c->idle_ns = world_mono_ns(server->world);
    if (why) {
        c->turned_away = true;
        err_copy(&c->why, why);
    }
    fiber_wake(server->sweeping);
    c->fiber = fiber_start(server->loop, "grpc connection", run_connection, c);
    fiber_detach(c->fiber);
}

struct grpc_connection *grpc_connection_next(const struct grpc_connection *c)
{
    return c->next;
}

void grpc_connection_log(struct grpc_connection *c,
                         const char *what,
                         const char *why)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s: %s", stream_peer(c->io), why);
    grpc_log(c->server, what, why, buf_cstr(&text));
    buf_close(&text);
}

void grpc_connection_leave(struct grpc_connection *c, const char *why)
{
    if (why)
        grpc_connection_log(c, "ended", why);
    c->leaving_ns = world_mono_ns(c->server->world);
    grpc_connection_drain(c);
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

/* A server's methods over streams: one fiber per connection reads requests, one
 * per call (serve_call.c) runs its handler, and one per connection writes the
 * responses.
 *
 * A connection that breaks, falls silent, or carries anything but frames is
 * closed: its calls are cancelled, and it is freed when the last of them has
 * returned.
 */
#include "base/rpc/serve.h"

#include <stdio.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/metrics/metrics.h"
#include "base/rpc/serve_internal.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/audit.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

/* Checks for silence within the time a client may be silent. */
#define IDLE_LOOKS 4

/* Checks for slow peers within the time they have. */
#define SLOW_LOOKS 4
/* A request may take one more second for every this many bytes. */
#define SLOWEST_BYTES_PER_S ((uint64_t)16 << 10)
/* Interval of checks for room for requests. */
#define ROOM_US 5000
/* Requests up to this size are read without waiting for room. */
#define SMALL_BYTES ((size_t)64 << 10)

/* --- signs of life ------------------------------------------------------- */

static void set_alarm(const struct connection *c)
{
    uint64_t us = c->listener->options.idle_us / IDLE_LOOKS;
    fiber_set_deadline(world_mono_ns(serve__world(c)) + us * 1000);
}

static int serve_look(void *ctx, struct err *err)
{
    struct connection *c = ctx;
    bool came = c->reader.bytes_in != c->bytes_seen;
    c->bytes_seen = c->reader.bytes_in;
    c->silent_looks = came ? 0 : c->silent_looks + 1;
    if (c->silent_looks >= IDLE_LOOKS)
        return err_set(err, ERR_CLOSED, "no sign of life");
    set_alarm(c);
    return 0;
}

/* --- connections --------------------------------------------------------- */

static int wait_for_room(struct connection *c, struct err *err)
{
    const struct rpc_listen_options *o = &c->listener->options;
    int rc = 0;
    if (c->job_count < o->calls_max && c->in_bytes < o->in_bytes_max)
        return 0;
    fiber_set_deadline(0);
    while (rc == 0 && c->job_count &&
           (c->job_count >= o->calls_max || c->in_bytes >= o->in_bytes_max))
        rc = fiber_park_checked(err);
    set_alarm(c);
    return rc;
}

/* Stop reading requests of a client that does not read its answers; the sweep
 * closes it if that lasts.
 */
static int await_output(struct connection *c, struct err *err)
{
    int rc = 0;
    if (!frame_writer_is_full(&c->writer))
        return 0;
    fiber_set_deadline(0);
    rc = frame_writer_await_room(&c->writer, err);
    set_alarm(c);
    return rc;
}

static bool memory_is_short(const struct connection *c)
{
    const struct rpc_listener *l = c->listener;
    return l->in_bytes > l->options.in_all_bytes_max && !c->guest.is_privileged;
}

/* A large request waits while the requests of all connections use all the
 * memory. Those of members do not wait: requests of others may depend on
 * them. */
static int await_memory(struct connection *c, size_t bytes, struct err *err)
{
    int rc = 0;
    if (bytes <= SMALL_BYTES || !memory_is_short(c))
        return 0;
    fiber_set_deadline(0);
    while (rc == 0 && memory_is_short(c)) {
        world_sleep_us(serve__world(c), ROOM_US);
        rc = fiber_check(err);
    }
    set_alarm(c);
    return rc;
}

/* Charge payload bytes as they arrive: requests that began together may
 * exceed the limit together. */
static int charge_request(void *ctx, size_t bytes, struct err *err)
{
    struct connection *c = ctx;
    size_t most = c->listener->options.in_all_bytes_max;
    c->coming_bytes += bytes;
    c->listener->in_bytes += bytes;
    if (c->coming_bytes > SMALL_BYTES && !c->guest.is_privileged &&
        c->listener->in_bytes > most + most / 4)
        return err_set(err, ERR_EXHAUSTED,
                       "requests of all connections take %zu bytes",
                       c->listener->in_bytes);
    return 0;
}

static int read_payload(struct connection *c,
                        struct frame *f,
                        bool check,
                        struct buf *body,
                        struct buf *attachment,
                        struct err *err)
{
    int rc;
    c->frame_since_us = world_mono_ns(serve__world(c)) / 1000 + 1;
    c->frame_bytes = f->body.len + f->attachment.len;
    rc = frame_reader_body(&c->reader, f, body, err);
    if (rc == 0)
        rc = frame_reader_attachment(&c->reader, f, check, attachment, err);
    c->frame_since_us = 0;
    INVARIANT(c->listener->in_bytes >= c->coming_bytes); /* INV-2 */
    /* From now on the job is charged instead. */
    c->listener->in_bytes -= c->coming_bytes;
    c->coming_bytes = 0;
    return rc;
}

static int take_frame(struct connection *c,
                      struct frame *f,
                      struct buf *body,
                      struct buf *attachment,
                      struct err *err)
{
    int rc = await_memory(c, f->body.len + f->attachment.len, err);
    const struct rpc_method *m =
        rpc_server_method(c->listener->server, f->method);
    bool check =
        f->kind != FRAME_REQUEST || !m || !(m->flags & RPC_METHOD_CHECKS_CRC);
    if (f->attachment.len && attachment->cap == 0 && c->spare_count)
        *attachment = c->spares[--c->spare_count];
    if (rc == 0)
        rc = read_payload(c, f, check, body, attachment, err);
    if (rc)
        return rc;
    switch (f->kind) {
    case FRAME_REQUEST:
        serve__start_call(c, f, m, body, attachment);
        return wait_for_room(c, err);
    case FRAME_CANCEL: serve__cancel_call(c, f->call_id); return 0;
    case FRAME_PING:
        rc = await_output(c, err);
        if (rc)
            return rc;
        frame_writer_post(&c->writer, &(struct frame){.kind = FRAME_PONG,
                                                      .call_id = f->call_id});
        return 0;
    case FRAME_PONG: return 0;
    case FRAME_RESPONSE: break;
    }
    return err_set(err, ERR_CORRUPT, "frame: a response to a server");
}

/* Log bad frames, but not an ordinary end. */
static void note_end(struct connection *c, int rc, const struct err *err)
{
    if (rc == ERR_EXHAUSTED) {
        serve_complain(c->listener, "closed", stream_peer(c->stream),
                       err->text);
        return;
    }
    if (rc != ERR_CORRUPT && rc != ERR_TOOBIG && rc != ERR_UNSUPPORTED)
        return;
    metric_add(c->listener->counters.bad_frames, 1);
    serve_complain(c->listener, "bad frame", stream_peer(c->stream), err->text);
}

static void read_frames(struct connection *c)
{
    struct frame f;
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct err err = ERR_INIT;
    bool end = false;
    int rc = 0;
    set_alarm(c);
    while (rc == 0 && !end) {
        rc = frame_reader_header(&c->reader, &f, &end, &err);
        if (rc == 0 && !end)
            rc = take_frame(c, &f, &body, &attachment, &err);
    }
    fiber_set_deadline(0);
    note_end(c, rc, &err);
    buf_close(&body);
    buf_close(&attachment);
}

static void serve_frames(struct connection *c)
{
    struct rpc_listener *l = c->listener;
    frame_reader_init(&c->reader, c->stream, c->ring);
    c->reader.idle = serve_look;
    c->reader.charge = charge_request;
    c->reader.ctx = c;
    frame_writer_start(&c->writer, c->stream, c->ring);
    c->writer.total = &l->out_bytes;
    c->is_serving = true;
    read_frames(c);
    c->is_ending = true;
    serve__cancel_calls(c);
    frame_writer_abandon(&c->writer);
    while (c->job_count)
        fiber_park();
    stream_close(c->stream);
    frame_writer_stop(&c->writer);
    metric_add(l->counters.bytes_in, c->reader.bytes_in);
    metric_add(l->counters.bytes_out, c->writer.bytes_out);
    frame_reader_close(&c->reader);
    shared_ring_free(c->ring);
    while (c->spare_count)
        buf_close(&c->spares[--c->spare_count]);
}

/* A client that left without sending anything is not logged. */
static void note_refusal(const struct connection *c,
                         const char *peer,
                         enum handshake_refusal why,
                         const struct err *err)
{
    const struct audit_event e = {.who = slice_str(c->principal),
                                  .from = slice_str(peer),
                                  .what = SLICE_LIT("rpc.handshake"),
                                  .on = slice_str(handshake_refusal_name(why)),
                                  .code = ERR_DENIED,
                                  .why = slice_str(err->text)};
    if (why != HANDSHAKE_SILENT && why != HANDSHAKE_PROTOCOL)
        audit_note(serve__world(c), &e);
}

static void
turn_away(struct rpc_listener *l, const char *peer, enum admission_verdict v)
{
    metric_add(l->counters.too_many, 1);
    serve_complain(l, "turned away", peer, admission_verdict_text(v));
}

/* Find a place for an authenticated peer. */
static bool admit_peer(struct connection *c, const char *peer)
{
    struct rpc_listener *l = c->listener;
    const struct rpc_listen_options *o = &l->options;
    bool is_member = o->is_member && o->is_member(o->ctx, c->principal, peer);
    enum admission_verdict v;
    /* It was evicted while it authenticated. */
    if (c->guest.state == ADMISSION_OUTSIDE)
        v = ADMISSION_FULL;
    else
        v = admission_prove(&l->admission, &c->guest, is_member);
    if (v != ADMISSION_GRANTED && !c->guest.is_privileged && o->is_holder &&
        o->is_holder(o->ctx, c->principal))
        v = admission_readmit(&l->admission, &c->guest);
    c->is_member = is_member;
    if (v == ADMISSION_GRANTED) {
        log_debug(serve__world(c), "rpc", "admitted peer=%s principal=%s", peer,
                  c->principal);
        metric_add(l->counters.connections, 1);
        return true;
    }
    turn_away(l, peer, v);
    shared_ring_free(c->ring);
    stream_close(c->stream);
    c->stream = NULL;
    return false;
}

/* Authenticate the client; false when it is refused. */
static bool serve_admit(struct connection *c)
{
    struct rpc_listener *l = c->listener;
    struct err err = ERR_INIT;
    struct sharing sharing;
    enum handshake_refusal why;
    char peer[256];
    int rc;
    snprintf(peer, sizeof(peer), "%s", stream_peer(c->stream));
    fiber_set_deadline(world_mono_ns(serve__world(c)) +
                       l->options.handshake_us * 1000);
    rc = handshake_accept(l->options.security, &c->stream, c->principal,
                          &sharing, &why, &err);
    fiber_set_deadline(0);
    c->ring = sharing.ring;
    if (sharing.refused.code)
        serve_complain(l, "no shared memory", peer, sharing.refused.text);
    if (rc == 0)
        return admit_peer(c, peer);
    if (rc == ERR_CANCELLED) /* The listener closes, or it was evicted. */
        return false;
    metric_add(l->counters.refused[why], 1);
    serve_complain(l, "refused", peer, err.text);
    note_refusal(c, peer, why, &err);
    return false;
}

static void unlink_connection(struct rpc_listener *l, struct connection *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        l->connections = c->next;
    if (c->next)
        c->next->prev = c->prev;
    admission_leave(&l->admission, &c->guest);
    if (l->closer && !l->connections)
        fiber_wake(l->closer);
}

static void run_connection(void *arg)
{
    struct connection *c = arg;
    if (serve_admit(c))
        serve_frames(c);
    INVARIANT(c->job_count == 0 && c->in_bytes == 0); /* INV-3 */
    unlink_connection(c->listener, c);
    mem_free(c);
}

static void serve_evict(struct rpc_listener *l, struct admission_guest *g)
{
    struct connection *c;
    if (!g)
        return;
    c = CONTAINER_OF(g, struct connection, guest);
    metric_add(l->counters.evicted, 1);
    fiber_cancel(c->fiber);
}

void serve_connection(struct rpc_listener *l, struct stream *s, bool is_nearby)
{
    struct connection *c = mem_zalloc(1, sizeof(*c));
    struct admission_guest *evicted;
    enum admission_verdict v;
    admission_guest_init(&c->guest, stream_peer(s), is_nearby);
    v = admission_enter(&l->admission, &c->guest, &evicted);
    if (v != ADMISSION_GRANTED) {
        turn_away(l, stream_peer(s), v);
        stream_close(s);
        mem_free(c);
        return;
    }
    serve_evict(l, evicted);
    c->listener = l;
    c->stream = s;
    c->since_us = world_mono_ns(rpc_server_world(l->server)) / 1000;
    c->next = l->connections;
    if (c->next)
        c->next->prev = c;
    l->connections = c;
    c->fiber = fiber_start(loop_self(), "rpc connection", run_connection, c);
    fiber_detach(c->fiber);
}

/* --- slow peers ---------------------------------------------------------- */

void serve__end_slow(struct connection *c, const char *why)
{
    c->is_ending = true;
    metric_add(c->listener->counters.slow, 1);
    serve_complain(c->listener, "closed", stream_peer(c->stream), why);
    fiber_cancel(c->fiber);
}

/* True if answers wait for it and it has read nothing in all that time. */
static bool is_stuck(struct connection *c)
{
    uint64_t written = stream_written(c->stream);
    bool moves = c->writer.bytes == 0 || written != c->written_seen;
    c->written_seen = written;
    c->stuck_sweeps = moves ? 0 : c->stuck_sweeps + 1;
    return c->stuck_sweeps >= SLOW_LOOKS;
}

/* True if its request arrives more slowly than any usable network. */
static bool is_dawdling(const struct connection *c, uint64_t now_us)
{
    uint64_t patience = c->listener->options.slow_us +
                        c->frame_bytes / SLOWEST_BYTES_PER_S * 1000000;
    return c->frame_since_us && now_us > c->frame_since_us + patience;
}

void serve_sweep(struct rpc_listener *l)
{
    struct world *w = rpc_server_world(l->server);
    while (fiber_check(NULL) == 0) {
        uint64_t now_us = world_mono_ns(w) / 1000;
        for (struct connection *c = l->connections; c; c = c->next) {
            if (!c->is_serving || c->is_ending)
                continue;
            if (is_stuck(c))
                serve__end_slow(c, "it does not read its answers");
            else if (is_dawdling(c, now_us))
                serve__end_slow(c, "its request does not come to an end");
        }
        world_sleep_to_tick(w, l->options.slow_us / SLOW_LOOKS);
    }
}

void serve_cancel(struct connection *c)
{
    fiber_cancel(c->fiber);
}

struct connection *serve_next(struct connection *c)
{
    return c->next;
}

void serve_print(const struct connection *c, struct buf *out)
{
    uint64_t now_us = world_mono_ns(serve__world(c)) / 1000;
    buf_printf(out, "%s principal=", c->stream ? stream_peer(c->stream) : "-");
    text_put_escaped(out, slice_str(c->principal[0] ? c->principal : "-"), ' ');
    buf_printf(out, " calls=%llu running=%zu in=%llu out=%llu age=",
               (unsigned long long)c->call_count, c->job_count,
               (unsigned long long)c->reader.bytes_in,
               (unsigned long long)c->writer.bytes_out);
    text_put_duration(out, now_us - c->since_us);
    buf_append_byte(out, '\n');
}

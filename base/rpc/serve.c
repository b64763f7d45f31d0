/* A server's methods over streams: a fiber per connection reads requests, a
 * fiber per call runs its handler, a fiber per connection writes the responses.
 *
 * A connection that breaks, falls silent, or carries what is no frame, is
 * closed: its calls are cancelled, and it goes when the last of them has ended.
 */
#include "base/rpc/serve.h"

#include <stdio.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/call_trace.h"
#include "base/rpc/channel.h"
#include "base/rpc/error_reply.h"
#include "base/rpc/frame_stream.h"
#include "base/rpc/reply_parts.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

/* Looks for signs of life within the time a client may be silent. */
#define IDLE_LOOKS 4

/* Memory of attachments kept for the next ones, per connection: touching fresh
 * memory costs more than copying it. */
#define SPARES_MAX      8
#define SPARE_BYTES_MAX ((size_t)1 << 20)

/* A call being handled. */
struct job {
    struct job *next; /* In the connection's list. */
    struct job *prev;
    struct connection *connection;
    struct fiber *fiber;
    struct frame request; /* Its slices point into the two below. */
    struct buf body;
    struct buf attachment;
    size_t bytes; /* Of these two. */
};

struct connection {
    struct connection *next; /* In the listener's list. */
    struct connection *prev;
    struct rpc_listener *listener;
    struct stream *stream;    /* Owned. */
    struct shared_ring *ring; /* Owned; NULL: there is none. */
    struct frame_reader reader;
    struct frame_writer writer;
    struct fiber *fiber; /* Reads. */
    struct job *jobs;
    size_t job_count;
    size_t in_bytes;               /* Of their requests. */
    struct buf spares[SPARES_MAX]; /* Empty, with memory. */
    size_t spare_count;
    uint64_t call_count;
    uint64_t since_us;
    uint64_t bytes_seen; /* Of the reader, at the last look. */
    unsigned silent_looks;
    char principal[RPC_NAME_BYTES_MAX + 1]; /* "" before the handshake. */
};

static struct world *world_of(const struct connection *c)
{
    return rpc_server_world(c->listener->server);
}

/* --- calls ----------------------------------------------------------- */

static void link_job(struct connection *c, struct job *k)
{
    k->next = c->jobs;
    if (k->next)
        k->next->prev = k;
    c->jobs = k;
    c->job_count++;
    c->in_bytes += k->bytes;
    c->call_count++;
}

static void keep_spare(struct connection *c, struct buf *b)
{
    if (b->cap == 0 || b->cap > SPARE_BYTES_MAX || c->spare_count == SPARES_MAX)
        buf_close(b);
    else
        c->spares[c->spare_count++] = *b;
}

static void end_job(struct connection *c, struct job *k)
{
    if (k->prev)
        k->prev->next = k->next;
    else
        c->jobs = k->next;
    if (k->next)
        k->next->prev = k->prev;
    c->job_count--;
    c->in_bytes -= k->bytes;
    buf_close(&k->body);
    keep_spare(c, &k->attachment);
    mem_free(k);
    fiber_wake(c->fiber); /* It may wait for room, or for the last job. */
}

static int check_size(const struct rpc_call *call,
                      const struct rpc_reply_parts *parts,
                      struct err *err)
{
    size_t bytes = call->reply_attachment->len + parts->bytes;
    if (call->reply_body->len <= FRAME_BODY_BYTES_MAX &&
        bytes <= FRAME_ATTACHMENT_BYTES_MAX)
        return 0;
    return err_set(err, ERR_TOOBIG, "response of %zu and %zu bytes",
                   call->reply_body->len, bytes);
}

static void respond(struct connection *c,
                    const struct job *k,
                    struct rpc_call *call,
                    int status,
                    const struct err *failure)
{
    struct rpc_reply_parts *parts = call->reply_parts;
    struct frame_hold hold = {.owned = call->reply_attachment};
    struct frame f = {.kind = FRAME_RESPONSE,
                      .call_id = k->request.call_id,
                      .method = k->request.method,
                      .status = status,
                      .trace_id = k->request.trace_id};
    if (status) {
        error_reply_put(failure, status, call->reply_body);
        buf_clear(call->reply_attachment);
        reply_parts_release(parts);
    }
    if (status == 0 && parts->count == 0) {
        f.attachment_crc_known = call->reply_crc.known;
        f.attachment_crc = call->reply_crc.value;
    }
    f.body = buf_slice(call->reply_body);
    f.parts = parts->parts;
    f.part_count = parts->count;
    f.file = parts->file;
    f.file_offset = parts->file_offset;
    f.file_bytes = parts->file_bytes;
    hold.release = parts->release;
    hold.ctx = parts->ctx;
    /* The deadline was for the work; that it has passed is worth telling. */
    fiber_set_deadline(0);
    if (frame_writer_send(&c->writer, &f, &hold, NULL))
        reply_parts_release(parts); /* Nobody is there to be told. */
}

static uint64_t deadline_of(const struct connection *c, const struct frame *f)
{
    uint64_t now;
    if (f->deadline_us == 0)
        return 0;
    now = world_mono_ns(world_of(c));
    if (f->deadline_us > (UINT64_MAX - now) / 1000)
        return 0;
    return now + f->deadline_us * 1000;
}

/* Run the handler as part of the caller's tree of calls. */
static int handle(struct connection *c,
                  const struct job *k,
                  struct rpc_call *call,
                  struct err *err)
{
    struct call_context caller = {
        .trace_id = k->request.trace_id,
        .span_id = k->request.span_id,
        .sampled = (k->request.flags & FRAME_SAMPLED) != 0,
    };
    struct call_context context;
    struct call_span span;
    int rc;
    call_span_serve(&span, c->listener->options.trace, world_of(c), &caller,
                    &context);
    fiber_set_context(&context); /* Unsampled too: its calls are no roots. */
    fiber_set_deadline(call->deadline_mono_ns);
    rc = fiber_check(err);
    if (rc == 0)
        rc = rpc_server_dispatch(c->listener->server, call, err);
    if (rc == 0)
        rc = check_size(call, call->reply_parts, err);
    fiber_set_context(NULL);
    call_span_end(&span, call->method, stream_peer(c->stream), rc);
    return rc;
}

static void note_outcome(struct connection *c, uint32_t method, int rc)
{
    struct rpc_listener *l = c->listener;
    serve_count(l->vars.calls, 1);
    serve_count(l->vars.failed, rc ? 1 : 0);
    if (rc == ERR_UNSUPPORTED && !rpc_server_knows(l->server, method)) {
        serve_count(l->vars.unknown, 1);
        serve_complain(l, "unknown method", stream_peer(c->stream),
                       c->principal);
    }
}

static void run_job(void *arg)
{
    struct job *k = arg;
    struct connection *c = k->connection;
    struct err err; /* A kilobyte that is seldom needed: not cleared. */
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct rpc_reply_parts parts;
    struct rpc_call call = {.method = k->request.method,
                            .body = k->request.body,
                            .attachment = buf_slice(&k->attachment),
                            .attachment_crc = {true, k->request.attachment_crc},
                            .principal = k->request.act_as.len
                                             ? k->request.act_as
                                             : slice_str(c->principal),
                            .actor = slice_str(c->principal),
                            .peer = slice_str(stream_peer(c->stream)),
                            .deadline_mono_ns = deadline_of(c, &k->request),
                            .trace_id = k->request.trace_id,
                            .idempotency_key = k->request.idempotency_key,
                            .reply_body = &body,
                            .reply_attachment = &attachment,
                            .reply_parts = &parts,
                            .taken = &k->attachment};
    int rc;
    reply_parts_init(&parts);
    parts.takes_files = stream_can_write_files(c->stream);
    err.code = 0;
    err.text[0] = '\0';
    err.hint[0] = '\0';
    rc = handle(c, k, &call, &err);
    note_outcome(c, call.method, rc);
    respond(c, k, &call, rc, &err);
    buf_close(&body);
    buf_close(&attachment);
    end_job(c, k);
}

/* @body and @attachment are emptied. */
static void start_job(struct connection *c,
                      const struct frame *f,
                      struct buf *body,
                      struct buf *attachment)
{
    struct job *k = mem_zalloc(1, sizeof(*k));
    k->connection = c;
    k->request = *f;
    k->body = *body;
    k->attachment = *attachment;
    k->bytes = body->len + attachment->len;
    *body = BUF_INIT;
    *attachment = BUF_INIT;
    link_job(c, k);
    k->fiber = fiber_start(loop_self(), "rpc call", run_job, k);
    fiber_detach(k->fiber);
}

static void cancel_job(struct connection *c, uint64_t call_id)
{
    for (struct job *k = c->jobs; k; k = k->next)
        if (k->request.call_id == call_id)
            fiber_cancel(k->fiber);
}

/* --- signs of life --------------------------------------------------- */

static void set_alarm(const struct connection *c)
{
    uint64_t us = c->listener->options.idle_us / IDLE_LOOKS;
    fiber_set_deadline(world_mono_ns(world_of(c)) + us * 1000);
}

static int look(void *ctx, struct err *err)
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

/* --- connections ----------------------------------------------------- */

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

static int take_frame(struct connection *c,
                      struct frame *f,
                      struct buf *body,
                      struct buf *attachment,
                      struct err *err)
{
    int rc = frame_reader_body(&c->reader, f, body, err);
    bool check = f->kind != FRAME_REQUEST ||
                 !rpc_server_leaves_check(c->listener->server, f->method);
    if (f->attachment.len && attachment->cap == 0 && c->spare_count)
        *attachment = c->spares[--c->spare_count];
    if (rc == 0)
        rc = frame_reader_attachment(&c->reader, f, check, attachment, err);
    if (rc)
        return rc;
    switch (f->kind) {
    case FRAME_REQUEST:
        start_job(c, f, body, attachment);
        return wait_for_room(c, err);
    case FRAME_CANCEL: cancel_job(c, f->call_id); return 0;
    case FRAME_PING:
        frame_writer_post(&c->writer, &(struct frame){.kind = FRAME_PONG,
                                                      .call_id = f->call_id});
        return 0;
    case FRAME_PONG: return 0;
    case FRAME_RESPONSE: break;
    }
    return err_set(err, ERR_CORRUPT, "frame: a response to a server");
}

/* Frames that are none are worth a line; a connection that ends is not. */
static void note_end(struct connection *c, int rc, const struct err *err)
{
    if (rc != ERR_CORRUPT && rc != ERR_TOOBIG && rc != ERR_UNSUPPORTED)
        return;
    serve_count(c->listener->vars.bad_frames, 1);
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
    c->reader.idle = look;
    c->reader.ctx = c;
    frame_writer_start(&c->writer, c->stream, c->ring);
    read_frames(c);
    for (struct job *k = c->jobs; k; k = k->next)
        fiber_cancel(k->fiber);
    frame_writer_abandon(&c->writer);
    while (c->job_count)
        fiber_park();
    stream_close(c->stream);
    frame_writer_stop(&c->writer);
    serve_count(l->vars.bytes_in, c->reader.bytes_in);
    serve_count(l->vars.bytes_out, c->writer.bytes_out);
    frame_reader_close(&c->reader);
    shared_ring_free(c->ring);
    while (c->spare_count)
        buf_close(&c->spares[--c->spare_count]);
}

/* Let the client prove itself; false when it is refused. */
static bool admit(struct connection *c)
{
    struct rpc_listener *l = c->listener;
    struct err err = ERR_INIT;
    struct sharing sharing;
    enum handshake_refusal why;
    char peer[256];
    int rc;
    snprintf(peer, sizeof(peer), "%s", stream_peer(c->stream));
    fiber_set_deadline(world_mono_ns(world_of(c)) +
                       l->options.handshake_us * 1000);
    rc = handshake_accept(l->options.security, &c->stream, c->principal,
                          &sharing, &why, &err);
    fiber_set_deadline(0);
    c->ring = sharing.ring;
    if (sharing.refused.code)
        serve_complain(l, "no shared memory", peer, sharing.refused.text);
    if (rc == 0) {
        serve_count(l->vars.connections, 1);
        return true;
    }
    if (rc == ERR_CANCELLED) /* The listener closes. */
        return false;
    serve_count(l->vars.refused[why], 1);
    serve_complain(l, "refused", peer, err.text);
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
    l->connection_count--;
    if (l->closer && !l->connections)
        fiber_wake(l->closer);
}

static void run_connection(void *arg)
{
    struct connection *c = arg;
    if (admit(c))
        serve_frames(c);
    unlink_connection(c->listener, c);
    mem_free(c);
}

void serve_connection(struct rpc_listener *l, struct stream *s)
{
    struct connection *c = mem_zalloc(1, sizeof(*c));
    c->listener = l;
    c->stream = s;
    c->since_us = world_mono_ns(rpc_server_world(l->server)) / 1000;
    c->next = l->connections;
    if (c->next)
        c->next->prev = c;
    l->connections = c;
    l->connection_count++;
    c->fiber = fiber_start(loop_self(), "rpc connection", run_connection, c);
    fiber_detach(c->fiber);
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
    uint64_t now_us = world_mono_ns(world_of(c)) / 1000;
    buf_printf(
        out, "%s principal=%s calls=%llu running=%zu in=%llu out=%llu age=",
        c->stream ? stream_peer(c->stream) : "-",
        c->principal[0] ? c->principal : "-", (unsigned long long)c->call_count,
        c->job_count, (unsigned long long)c->reader.bytes_in,
        (unsigned long long)c->writer.bytes_out);
    text_put_duration(out, now_us - c->since_us);
    buf_append_byte(out, '\n');
}

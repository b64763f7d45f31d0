/* A server's methods over streams: a fiber per connection reads requests, a
 * fiber per call runs its handler, a fiber per connection writes the responses.
 *
 * A connection that breaks, or carries what is no frame, is closed: its calls
 * are cancelled, and it goes when the last of them has ended.
 */
#include "base/core/panic.h"
#include "base/rpc/channel.h"
#include "base/rpc/error_reply.h"
#include "base/rpc/frame_stream.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

#define CALLS_MAX_DEFAULT    1024
#define IN_BYTES_MAX_DEFAULT ((size_t)64 << 20)
/* Pause after accept failed for want of descriptors: others may close some. */
#define ACCEPT_RETRY_US 50000

/* A call being handled. */
struct job {
    struct job *next; /* In the connection's list. */
    struct job *prev;
    struct connection *connection;
    struct fiber *fiber;
    struct frame request; /* Its slices point into the two below. */
    struct buf body;
    struct buf attachment;
};

struct connection {
    struct connection *next; /* In the listener's list. */
    struct connection *prev;
    struct rpc_listener *listener;
    struct stream *stream; /* Owned. */
    struct frame_reader reader;
    struct frame_writer writer;
    struct fiber *fiber; /* Reads. */
    struct job *jobs;
    size_t job_count;
    size_t in_bytes; /* Of their requests. */
};

struct rpc_listener {
    struct rpc_server *server; /* Borrowed. */
    struct rpc_listen_options options;
    struct stream_listener *listener; /* Owned. */
    struct fiber *accepting;
    struct connection *connections;
    struct fiber *closer; /* Waits for the last connection to go. */
};

/* --- calls -------------------------------------------------------------- */

static size_t job_bytes(const struct job *k)
{
    return k->body.len + k->attachment.len;
}

static void link_job(struct connection *c, struct job *k)
{
    k->next = c->jobs;
    if (k->next)
        k->next->prev = k;
    c->jobs = k;
    c->job_count++;
    c->in_bytes += job_bytes(k);
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
    c->in_bytes -= job_bytes(k);
    buf_close(&k->body);
    buf_close(&k->attachment);
    mem_free(k);
    fiber_wake(c->fiber); /* It may wait for room, or for the last job. */
}

static int check_size(const struct rpc_call *call, struct err *err)
{
    if (call->reply_body->len <= FRAME_BODY_BYTES_MAX &&
        call->reply_attachment->len <= FRAME_ATTACHMENT_BYTES_MAX)
        return 0;
    return err_set(err, ERR_TOOBIG, "response of %zu and %zu bytes",
                   call->reply_body->len, call->reply_attachment->len);
}

static void respond(struct connection *c,
                    const struct job *k,
                    const struct rpc_call *call,
                    int status,
                    const struct err *failure)
{
    struct frame f = {.kind = FRAME_RESPONSE,
                      .call_id = k->request.call_id,
                      .method = k->request.method,
                      .status = status,
                      .trace_id = k->request.trace_id};
    if (status) {
        error_reply_put(failure, status, call->reply_body);
        buf_clear(call->reply_attachment);
    }
    f.body = buf_slice(call->reply_body);
    /* The deadline was for the work; that it has passed is worth telling. */
    fiber_set_deadline(0);
    if (frame_writer_send(&c->writer, &f, call->reply_attachment, NULL))
        buf_clear(call->reply_attachment); /* Nobody is there to be told. */
}

static uint64_t deadline_of(const struct frame *f)
{
    uint64_t now = world_mono_ns(loop_world(loop_self()));
    if (f->deadline_us == 0 || f->deadline_us > (UINT64_MAX - now) / 1000)
        return 0;
    return now + f->deadline_us * 1000;
}

static void run_job(void *arg)
{
    struct job *k = arg;
    struct connection *c = k->connection;
    struct err err = ERR_INIT;
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct rpc_call call = {.method = k->request.method,
                            .body = buf_slice(&k->body),
                            .attachment = buf_slice(&k->attachment),
                            /* Until connections prove who is at the far end. */
                            .principal = SLICE_LIT("anonymous"),
                            .deadline_mono_ns = deadline_of(&k->request),
                            .trace_id = k->request.trace_id,
                            .idempotency_key = k->request.idempotency_key,
                            .reply_body = &body,
                            .reply_attachment = &attachment};
    int rc;
    fiber_set_deadline(call.deadline_mono_ns);
    rc = fiber_check(&err);
    if (rc == 0)
        rc = rpc_server_dispatch(c->listener->server, &call, &err);
    if (rc == 0)
        rc = check_size(&call, &err);
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

/* --- connections -------------------------------------------------------- */

static int wait_for_room(struct connection *c, struct err *err)
{
    const struct rpc_listen_options *o = &c->listener->options;
    int rc = 0;
    while (rc == 0 && c->job_count &&
           (c->job_count >= o->calls_max || c->in_bytes >= o->in_bytes_max))
        rc = fiber_park_checked(err);
    return rc;
}

static int take_frame(struct connection *c,
                      const struct frame *f,
                      struct buf *body,
                      struct buf *attachment,
                      struct err *err)
{
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

static void read_frames(struct connection *c)
{
    struct frame f;
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct err err = ERR_INIT;
    bool end = false;
    int rc = 0;
    while (rc == 0 && !end) {
        rc = frame_reader_next(&c->reader, &f, &body, &attachment, &end, &err);
        if (rc == 0 && !end)
            rc = take_frame(c, &f, &body, &attachment, &err);
    }
    buf_close(&body);
    buf_close(&attachment);
}

static void unlink_connection(struct rpc_listener *l, struct connection *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        l->connections = c->next;
    if (c->next)
        c->next->prev = c->prev;
    if (l->closer && !l->connections)
        fiber_wake(l->closer);
}

static void run_connection(void *arg)
{
    struct connection *c = arg;
    read_frames(c);
    for (struct job *k = c->jobs; k; k = k->next)
        fiber_cancel(k->fiber);
    frame_writer_abandon(&c->writer);
    while (c->job_count)
        fiber_park();
    stream_close(c->stream);
    frame_writer_stop(&c->writer);
    frame_reader_close(&c->reader);
    unlink_connection(c->listener, c);
    mem_free(c);
}

static void add_connection(struct rpc_listener *l, struct stream *stream)
{
    struct connection *c = mem_zalloc(1, sizeof(*c));
    c->listener = l;
    c->stream = stream;
    c->next = l->connections;
    if (c->next)
        c->next->prev = c;
    l->connections = c;
    frame_reader_init(&c->reader, stream);
    frame_writer_start(&c->writer, stream);
    c->fiber = fiber_start(loop_self(), "rpc connection", run_connection, c);
    fiber_detach(c->fiber);
}

/* --- the listener ------------------------------------------------------- */

static void run_accepting(void *arg)
{
    struct rpc_listener *l = arg;
    int rc = 0;
    while (rc == 0 || rc == ERR_IO) {
        struct stream *stream;
        rc = stream_accept(l->listener, &stream, NULL);
        if (rc == 0)
            add_connection(l, stream);
        else if (rc == ERR_IO)
            world_sleep_us(loop_world(loop_self()), ACCEPT_RETRY_US);
    }
}

int rpc_listen(struct rpc_server *server,
               const char *address,
               const struct rpc_listen_options *opts,
               struct rpc_listener **out,
               struct err *err)
{
    struct stream_listener *stream;
    struct rpc_listener *l;
    int rc = stream_listen(address, &stream, err);
    *out = NULL;
    if (rc)
        return rc;
    l = mem_zalloc(1, sizeof(*l));
    l->server = server;
    l->listener = stream;
    if (opts)
        l->options = *opts;
    if (l->options.calls_max == 0)
        l->options.calls_max = CALLS_MAX_DEFAULT;
    if (l->options.in_bytes_max == 0)
        l->options.in_bytes_max = IN_BYTES_MAX_DEFAULT;
    l->accepting = fiber_start(loop_self(), "rpc accept", run_accepting, l);
    *out = l;
    return 0;
}

const char *rpc_listener_address(const struct rpc_listener *l)
{
    return stream_listener_address(l->listener);
}

void rpc_listener_close(struct rpc_listener *l)
{
    if (!l)
        return;
    fiber_cancel(l->accepting);
    fiber_join(l->accepting);
    stream_listener_close(l->listener);
    l->closer = fiber_self();
    for (struct connection *c = l->connections; c; c = c->next)
        fiber_cancel(c->fiber);
    while (l->connections)
        fiber_park();
    mem_free(l);
}

/* The calls of a connection: a fiber each, which runs the handler and gives
 * its answer to the connection's writer. Answers that wait for a slow reader
 * are counted over all connections; beyond the limit the connection with
 * most of them is closed, so that slow readers cannot take all memory. */
#include "base/core/panic.h"
#include "base/metrics/metrics.h"
#include "base/rpc/error_reply.h"
#include "base/rpc/reply_file.h"
#include "base/rpc/serve_internal.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"

/* A call being handled. */
struct job {
    struct job *next; /* In the connection's list. */
    struct job *prev;
    struct connection *connection;
    struct fiber *fiber;
    const struct rpc_method *method; /* NULL: there is none of that number. */
    struct frame request;            /* Its slices point into the two below. */
    struct buf body;
    struct buf attachment;
    size_t bytes; /* Of these two buffers. */
};

/* --- calls --------------------------------------------------------------- */

static void link_job(struct connection *c, struct job *k)
{
    k->next = c->jobs;
    if (k->next)
        k->next->prev = k;
    c->jobs = k;
    c->job_count++;
    c->in_bytes += k->bytes;
    c->listener->in_bytes += k->bytes;
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
    INVARIANT(c->job_count > 0 && c->in_bytes >= k->bytes); /* INV-1 */
    INVARIANT(c->listener->in_bytes >= c->in_bytes);        /* INV-2 */
    c->job_count--;
    c->in_bytes -= k->bytes;
    c->listener->in_bytes -= k->bytes;
    buf_close(&k->body);
    keep_spare(c, &k->attachment);
    mem_free(k);
    fiber_wake(c->fiber); /* It may wait for room or for the last job. */
}

static int check_size(const struct rpc_call *call, struct err *err)
{
    size_t bytes = call->reply_attachment->len + call->reply_file->bytes;
    if (call->reply_body->len <= FRAME_BODY_BYTES_MAX &&
        bytes <= FRAME_ATTACHMENT_BYTES_MAX)
        return 0;
    return err_set(err, ERR_TOOBIG, "response of %zu and %zu bytes",
                   call->reply_body->len, bytes);
}

/* --- answers that wait for their readers --------------------------------- */

/* Beyond the limit over all connections, close the one with most waiting
 * bytes. */
static void limit_answers(struct rpc_listener *l)
{
    struct connection *most = NULL;
    size_t sum = 0;
    if (l->out_bytes <= l->options.out_all_bytes_max)
        return;
    for (struct connection *c = l->connections; c; c = c->next) {
        if (!c->is_serving || c->is_ending)
            continue;
        sum += serve__waiting_bytes(c);
        if (!most || serve__waiting_bytes(c) > serve__waiting_bytes(most))
            most = c;
    }
    if (most && sum > l->options.out_all_bytes_max)
        serve__end_slow(most,
                        "it reads too slowly, and answers take all the memory "
                        "there is for them");
}

/* Count an answer of @bytes that waits for room in the writer's queue. */
static void hold_answer(struct connection *c, size_t bytes)
{
    c->held_bytes += bytes;
    c->listener->out_bytes += bytes;
    limit_answers(c->listener);
}

static void release_answer(struct connection *c, size_t bytes)
{
    INVARIANT(c->held_bytes >= bytes);
    c->held_bytes -= bytes;
    c->listener->out_bytes -= bytes;
}

/* Bytes of the answer in memory; a range of a file takes none. */
static size_t answer_bytes(const struct rpc_call *call)
{
    return call->reply_body->len + call->reply_attachment->len;
}

static void serve_call_respond(struct connection *c,
                               const struct job *k,
                               struct rpc_call *call,
                               int status,
                               const struct err *failure)
{
    struct rpc_reply_file *file = call->reply_file;
    size_t bytes;
    struct frame_hold hold = {.owned = call->reply_attachment};
    struct frame f = {.kind = FRAME_RESPONSE,
                      .call_id = k->request.call_id,
                      .method = k->request.method,
                      .status = status};
    if (status) {
        error_reply_put(failure, status, call->reply_body);
        buf_clear(call->reply_attachment);
        reply_file_release(file);
    } else {
        f.attachment_crc_known = call->reply_crc.known;
        f.attachment_crc = call->reply_crc.value;
    }
    f.body = buf_slice(call->reply_body);
    f.file = file->file;
    f.file_offset = file->offset;
    f.file_bytes = file->bytes;
    bytes = answer_bytes(call);
    hold.release = file->release;
    hold.ctx = file->ctx;
    /* The deadline was for the work; the caller must still learn that it has
     * passed. */
    fiber_set_deadline(0);
    hold_answer(c, bytes);
    if (frame_writer_send(&c->writer, &f, &hold, NULL))
        reply_file_release(file); /* The client is gone. */
    release_answer(c, bytes);
}

static uint64_t deadline_of(const struct frame *f, uint64_t now)
{
    if (f->deadline_us == 0 || f->deadline_us > (UINT64_MAX - now) / 1000)
        return 0;
    return now + f->deadline_us * 1000;
}

/* Begin the span of the call, as a child of its caller's. */
static void serve_call_begin(struct connection *c,
                             const struct job *k,
                             uint64_t now,
                             struct span *span)
{
    struct trace_context caller = {
        .trace = k->request.trace,
        .span_id = k->request.span_id,
        .sampled = (k->request.flags & FRAME_SAMPLED) != 0,
    };
    span_begin_root(span, serve__world(c), SPAN_SERVER,
                    k->method ? k->method->name : "unknown method", &caller,
                    now);
    span->peer = stream_peer(c->stream);
    if (k->method && (k->method->flags & RPC_METHOD_WAITS))
        span_set_waits(span);
}

static void serve_call_end(const struct job *k,
                           const struct rpc_call *call,
                           struct span *span,
                           int status)
{
    uint64_t end = call->end_ns ? call->end_ns : span_clock(span);
    if (!span_is_due(span, end)) {
        span_end_at(span, end, status);
        return;
    }
    span_text(span, "principal", call->principal);
    span_number(span, "request_bytes", (int64_t)k->bytes);
    span_number(span, "reply_bytes",
                (int64_t)(call->reply_body->len + call->reply_attachment->len +
                          call->reply_file->bytes));
    span_end_at(span, end, status);
}

/* Run the handler. */
static int serve_call_handle(struct connection *c,
                             const struct job *k,
                             struct rpc_call *call,
                             struct err *err)
{
    struct span span;
    int rc;
    serve_call_begin(c, k, call->start_ns, &span);
    fiber_set_deadline(call->deadline_mono_ns);
    rc = fiber_check(err);
    /* A client that does not read its answers gets no more of them. */
    if (rc == 0 && frame_writer_is_full(&c->writer))
        call->start_ns = 0; /* The handler begins later. */
    if (rc == 0)
        rc = frame_writer_await_room(&c->writer, err);
    if (rc == 0)
        rc = rpc_server_dispatch(c->listener->server, call, err);
    if (rc == 0)
        rc = check_size(call, err);
    serve_call_end(k, call, &span, rc);
    return rc;
}

static enum caller_class caller_class(const struct connection *c,
                                      const struct job *k)
{
    if (k->request.act_as.len)
        return CALLER_DELEGATE;
    return c->is_member ? CALLER_CLUSTER : CALLER_USER;
}

static void note_outcome(struct connection *c, const struct job *k, int rc)
{
    uint32_t method = k->request.method;
    struct rpc_listener *l = c->listener;
    metric_add(l->counters.calls[caller_class(c, k)], 1);
    if (rc == ERR_UNSUPPORTED && !rpc_server_method(l->server, method)) {
        metric_add(l->counters.unknown, 1);
        serve_complain(l, "unknown method", stream_peer(c->stream),
                       c->principal);
    }
}

static void run_job(void *arg)
{
    struct job *k = arg;
    struct connection *c = k->connection;
    struct err err; /* A kilobyte that is seldom used: not cleared. */
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct rpc_reply_file file = {.is_possible =
                                      stream_can_write_files(c->stream)};
    uint64_t now = world_mono_ns(serve__world(c));
    struct rpc_call call = {.method = k->request.method,
                            .body = k->request.body,
                            .attachment = buf_slice(&k->attachment),
                            .attachment_crc = {true, k->request.attachment_crc},
                            .principal = k->request.act_as.len
                                             ? k->request.act_as
                                             : slice_str(c->principal),
                            .actor = slice_str(c->principal),
                            .peer = slice_str(stream_peer(c->stream)),
                            .deadline_mono_ns = deadline_of(&k->request, now),
                            .idempotency_key = k->request.idempotency_key,
                            .reply_body = &body,
                            .reply_attachment = &attachment,
                            .reply_file = &file,
                            .start_ns = now};
    int rc;
    err_init(&err);
    rc = serve_call_handle(c, k, &call, &err);
    note_outcome(c, k, rc);
    serve_call_respond(c, k, &call, rc, &err);
    buf_close(&body);
    buf_close(&attachment);
    end_job(c, k);
}

void serve__start_call(struct connection *c,
                       const struct frame *f,
                       const struct rpc_method *m,
                       struct buf *body,
                       struct buf *attachment)
{
    struct job *k = mem_zalloc(1, sizeof(*k));
    k->connection = c;
    k->method = m;
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

void serve__cancel_call(struct connection *c, uint64_t call_id)
{
    for (struct job *k = c->jobs; k; k = k->next)
        if (k->request.call_id == call_id)
            fiber_cancel(k->fiber);
}

void serve__cancel_calls(struct connection *c)
{
    for (struct job *k = c->jobs; k; k = k->next)
        fiber_cancel(k->fiber);
}

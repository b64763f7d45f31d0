/* A channel over a stream: many calls at once, told apart by their ids.
 *
 * The caller queues its request and parks; the reading fiber takes responses in
 * whatever order they come, puts each into its caller's buffers and wakes it. A
 * caller that gives up tells the server so and forgets the call; a response
 * that is late then finds nobody and is dropped.
 *
 * One loop owns all of it. A call from elsewhere is run there for its caller.
 */
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/rpc/channel.h"
#include "base/rpc/error_reply.h"
#include "base/rpc/frame_stream.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

/* On the stack of its caller. */
struct pending {
    uint64_t call_id; /* Its key in the map. */
    struct fiber *fiber;
    struct buf *reply_body;
    struct buf *reply_attachment;
    struct err *err;
    int rc;
    bool done;
};

struct client {
    struct rpc_channel base;
    struct loop *loop;
    struct stream *stream; /* Owned. */
    struct frame_reader reader;
    struct frame_writer writer;
    struct fiber *reading;
    struct hash_map pending; /* Call id to struct pending. */
    uint64_t last_call_id;
    size_t caller_count;  /* Fibers inside call_here(). */
    struct fiber *closer; /* Waits for them to leave. */
    struct err lost; /* Why no call can succeed any more; code 0: it can. */
};

static struct client *client_of(struct rpc_channel *base)
{
    return CONTAINER_OF(base, struct client, base);
}

static struct slice id_key(const uint64_t *id)
{
    return slice_make(id, sizeof(*id));
}

/* --- the reading fiber -------------------------------------------------- */

static void finish(struct pending *p, int rc)
{
    p->rc = rc;
    p->done = true;
    fiber_wake(p->fiber);
}

/* Add @from to @to; without a copy where that was empty. @from is left with
 * contents of no interest. */
static void hand_over(struct buf *to, struct buf *from)
{
    struct buf old = *to;
    if (old.len) {
        buf_append_slice(to, buf_slice(from));
    } else {
        *to = *from;
        *from = old;
    }
}

static void deliver(struct client *c,
                    const struct frame *f,
                    struct buf *body,
                    struct buf *attachment)
{
    union hash_value v;
    struct pending *p;
    if (!hash_map_remove(&c->pending, id_key(&f->call_id), &v))
        return;
    p = v.pointer;
    if (f->status) {
        finish(p, error_reply_get(f->body, f->status, p->err));
        return;
    }
    hand_over(p->reply_body, body);
    hand_over(p->reply_attachment, attachment);
    finish(p, 0);
}

static int take_frame(struct client *c,
                      struct frame *f,
                      struct buf *body,
                      struct buf *attachment,
                      struct err *err)
{
    switch (f->kind) {
    case FRAME_RESPONSE: deliver(c, f, body, attachment); return 0;
    case FRAME_PING:
        frame_writer_post(&c->writer, &(struct frame){.kind = FRAME_PONG,
                                                      .call_id = f->call_id});
        return 0;
    case FRAME_PONG: return 0;
    case FRAME_REQUEST:
    case FRAME_CANCEL: break;
    }
    return err_set(err, ERR_CORRUPT, "frame: a request to a client");
}

static void fail_all(struct client *c)
{
    size_t at = 0;
    struct hash_slot *s;
    while ((s = hash_map_next(&c->pending, &at))) {
        struct pending *p = s->value.pointer;
        finish(p, err_copy(p->err, &c->lost));
    }
    hash_map_clear(&c->pending);
}

static void run_reading(void *arg)
{
    struct client *c = arg;
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct frame f;
    struct err err = ERR_INIT;
    bool end = false;
    int rc = 0;
    while (rc == 0 && !end) {
        rc = frame_reader_next(&c->reader, &f, &body, &attachment, &end, &err);
        if (rc == 0 && !end)
            rc = take_frame(c, &f, &body, &attachment, &err);
    }
    err_set(&c->lost, ERR_UNAVAILABLE, "connection to %s lost: %s",
            stream_peer(c->stream), rc ? err.text : "closed by the peer");
    frame_writer_abandon(&c->writer);
    fail_all(c);
    buf_close(&body);
    buf_close(&attachment);
}

/* --- a call on the channel's loop ---------------------------------------- */

/* Arguments of rpc_call(), for the loop that runs it. */
struct remote_call {
    struct client *client;
    uint32_t method;
    const struct rpc_call_options *opts;
    struct slice body;
    struct slice attachment;
    struct buf *reply_body;
    struct buf *reply_attachment;
    uint64_t deadline_ns; /* Monotonic; 0: none. */
    struct err *err;
    int rc;
};

static struct world *world_of(const struct client *c)
{
    return loop_world(c->loop);
}

/* Never 0 while there is a deadline: 0 means none. */
static uint64_t time_left_us(const struct client *c)
{
    uint64_t deadline = fiber_deadline();
    uint64_t now;
    if (!deadline)
        return 0;
    now = world_mono_ns(world_of(c));
    return deadline > now + 1000 ? (deadline - now) / 1000 : 1;
}

static int send_request(struct client *c,
                        const struct remote_call *k,
                        uint64_t call_id,
                        struct err *err)
{
    struct buf attachment = BUF_INIT;
    struct frame f = {.kind = FRAME_REQUEST,
                      .call_id = call_id,
                      .method = k->method,
                      .deadline_us = time_left_us(c),
                      .trace_id = k->opts->trace_id,
                      .idempotency_key = k->opts->idempotency_key,
                      .body = k->body};
    int rc;
    if (k->attachment.len)
        buf_append_slice(&attachment, k->attachment);
    rc = frame_writer_send(&c->writer, &f, &attachment, err);
    buf_close(&attachment);
    return rc;
}

/* Wait for the response to @p, which is in the map. */
static int await(struct client *c, struct pending *p, struct err *err)
{
    int rc = 0;
    while (!p->done && rc == 0)
        rc = fiber_park_checked(err);
    if (p->done)
        return p->rc;
    hash_map_remove(&c->pending, id_key(&p->call_id), NULL);
    frame_writer_post(&c->writer, &(struct frame){.kind = FRAME_CANCEL,
                                                  .call_id = p->call_id});
    return rc;
}

static int send_and_await(struct client *c, struct remote_call *k)
{
    struct pending p = {.call_id = ++c->last_call_id,
                        .fiber = fiber_self(),
                        .reply_body = k->reply_body,
                        .reply_attachment = k->reply_attachment,
                        .err = k->err};
    int rc = c->lost.code ? err_copy(k->err, &c->lost) : 0;
    if (rc == 0)
        rc = send_request(c, k, p.call_id, k->err);
    if (rc == 0 && c->lost.code) /* While it waited for room. */
        rc = err_copy(k->err, &c->lost);
    if (rc)
        return rc;
    hash_map_put(&c->pending, id_key(&p.call_id), NULL)->pointer = &p;
    return await(c, &p, k->err);
}

static void call_here(void *arg)
{
    struct remote_call *k = arg;
    struct client *c = k->client;
    uint64_t outer = fiber_deadline();
    if (k->deadline_ns && (!outer || k->deadline_ns < outer))
        fiber_set_deadline(k->deadline_ns);
    c->caller_count++;
    k->rc = send_and_await(c, k);
    c->caller_count--;
    fiber_set_deadline(outer);
    if (c->closer && c->caller_count == 0)
        fiber_wake(c->closer);
}

/* --- the channel -------------------------------------------------------- */

/* The nearer of the caller's deadline and the call's. */
static uint64_t deadline_of(const struct client *c,
                            const struct rpc_call_options *opts)
{
    uint64_t deadline = fiber_deadline();
    uint64_t now;
    uint64_t own;
    if (opts->timeout_us == 0)
        return deadline;
    now = world_mono_ns(world_of(c));
    own = opts->timeout_us > (UINT64_MAX - now) / 1000
              ? UINT64_MAX
              : now + opts->timeout_us * 1000;
    return deadline && deadline < own ? deadline : own;
}

static bool is_here(const struct client *c)
{
    return fiber_self() && loop_self() == c->loop;
}

static int call(struct rpc_channel *base,
                uint32_t method,
                const struct rpc_call_options *opts,
                struct slice body,
                struct slice attachment,
                struct buf *reply_body,
                struct buf *reply_attachment,
                struct err *err)
{
    struct client *c = client_of(base);
    struct remote_call k = {.client = c,
                            .method = method,
                            .opts = opts,
                            .body = body,
                            .attachment = attachment,
                            .reply_body = reply_body,
                            .reply_attachment = reply_attachment,
                            .deadline_ns = deadline_of(c, opts),
                            .err = err};
    if (body.len > FRAME_BODY_BYTES_MAX ||
        attachment.len > FRAME_ATTACHMENT_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "request of %zu and %zu bytes",
                       body.len, attachment.len);
    if (is_here(c))
        call_here(&k);
    else
        loop_call(c->loop, "rpc call", call_here, &k);
    return k.rc;
}

static void close_here(void *arg)
{
    struct client *c = arg;
    fiber_cancel(c->reading);
    fiber_join(c->reading);
    c->closer = fiber_self();
    while (c->caller_count)
        fiber_park();
    stream_close(c->stream);
    frame_writer_stop(&c->writer);
    frame_reader_close(&c->reader);
    hash_map_close(&c->pending);
}

static void free_client(struct rpc_channel *base)
{
    struct client *c = client_of(base);
    if (is_here(c))
        close_here(c);
    else
        loop_call(c->loop, "rpc close", close_here, c);
    mem_free(c);
}

int rpc_connect(const char *address, struct rpc_channel **out, struct err *err)
{
    static const struct rpc_channel_ops ops = {call, free_client};
    struct client *c;
    struct stream *s;
    int rc = stream_connect(address, &s, err);
    *out = NULL;
    if (rc)
        return rc;
    c = mem_zalloc(1, sizeof(*c));
    c->base.ops = &ops;
    c->loop = loop_self();
    c->stream = s;
    /* Keys lie in the pending structs: each leaves the map before it goes. */
    hash_map_init(&c->pending, HASH_KEYS_BORROWED);
    frame_reader_init(&c->reader, s);
    frame_writer_start(&c->writer, s);
    c->reading = fiber_start(c->loop, "rpc client", run_reading, c);
    *out = &c->base;
    return 0;
}

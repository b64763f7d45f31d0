/* One connection of a channel.
 *
 * The caller queues its request and parks; the reading fiber receives answers
 * in any order, stores each in its caller's buffers and wakes the caller. A
 * caller that gives up sends a cancel frame and leaves; a late answer is then
 * dropped.
 *
 * Every ping_us without bytes the reading fiber sends a ping; after dead_us
 * without bytes it declares the peer dead.
 */
#include "base/rpc/link.h"

#include "base/core/panic.h"
#include "base/rpc/error_reply.h"
#include "base/rpc/shared_ring.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"

struct link {
    struct link_options options;
    struct stream *stream;    /* Owned. */
    struct shared_ring *ring; /* Owned; may be NULL. */
    struct frame_reader reader;
    struct frame_writer writer;
    struct fiber *fiber;        /* Reads. */
    struct hash_map calls;      /* Call id to struct link_call. */
    struct link_call *receiver; /* The call whose attachment is being read, */
    struct rpc_sink *sink;      /* and its sink; NULL: it is dropped. */
    size_t caller_count;        /* Fibers inside link_call(). */
    struct err lost;            /* Why it was lost; code 0: it is not. */
    uint64_t bytes_seen;        /* Of the reader, at the last check, */
    uint64_t looked_us;         /* which was then. */
    uint64_t silent_us;         /* Time without bytes. */
    uint64_t unused_us;         /* Time without calls. */
    bool was_used;              /* Since the last check. */
};

/* --- answers ------------------------------------------------------------- */

static void link_finish(struct link_call *k, int rc)
{
    k->rc = rc;
    k->done = true;
    fiber_wake(k->fiber);
}

/* Append @from to @to; an empty @to swaps buffers instead. The contents of
 * @from are undefined afterwards. */
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

static struct link_call *link_find(struct link *l, uint64_t call_id)
{
    union hash_value *v = hash_map_get(&l->calls, hash_key_u64(&call_id));
    return v ? v->pointer : NULL;
}

/* End the call whose answer is being received. */
static void link_refuse(struct link *l, const struct frame *f, int rc)
{
    hash_map_remove(&l->calls, hash_key_u64(&f->call_id), NULL);
    link_finish(l->receiver, rc);
}

/* Read the attachment of @f into the call's buffer or sink. Its caller may
 * give up meanwhile. A wrong checksum fails only this call: the header,
 * which was right, says where the next frame begins. */
static int link_receive(struct link *l,
                        struct frame *f,
                        struct buf *attachment,
                        struct err *err)
{
    struct link_call *k = link_find(l, f->call_id);
    struct rpc_sink *into = k && f->status == 0 ? k->into : NULL;
    bool fits = into && into->cap - into->len >= f->attachment.len;
    int rc;
    l->receiver = k;
    if (k && !k->into) {
        rc = frame_reader_attachment(&l->reader, f, true, attachment, err);
    } else {
        l->sink = fits ? into : NULL;
        rc = frame_reader_sink(&l->reader, f, &l->sink, err);
    }
    if (rc == ERR_CORRUPT) {
        if (l->receiver)
            link_refuse(l, f, err_copy(l->receiver->err, err));
        rc = 0;
    } else if (rc == 0 && into && !fits && l->receiver) {
        link_refuse(l, f,
                    err_set(k->err, ERR_TOOBIG,
                            "answer of %zu bytes, there is room for %zu",
                            f->attachment.len, into->cap - into->len));
    }
    l->receiver = NULL;
    l->sink = NULL;
    return rc;
}

static void link_deliver(struct link *l,
                         const struct frame *f,
                         struct buf *body,
                         struct buf *attachment)
{
    union hash_value v;
    struct link_call *k;
    if (!hash_map_remove(&l->calls, hash_key_u64(&f->call_id), &v))
        return;
    k = v.pointer;
    if (f->status) {
        link_finish(k, error_reply_get(f->body, f->status, k->err));
        return;
    }
    hand_over(k->reply_body, body);
    if (!k->into)
        hand_over(k->reply_attachment, attachment);
    link_finish(k, 0);
}

/* A server that does not read its pongs gets no more of them. */
static void link_pong(struct link *l, const struct frame *f)
{
    if (frame_writer_is_full(&l->writer))
        return;
    frame_writer_post(
        &l->writer, &(struct frame){.kind = FRAME_PONG, .call_id = f->call_id});
}

static int take_frame(struct link *l,
                      struct frame *f,
                      struct buf *body,
                      struct buf *attachment,
                      struct err *err)
{
    int rc = frame_reader_body(&l->reader, f, body, err);
    if (rc == 0)
        rc = link_receive(l, f, attachment, err);
    if (rc)
        return rc;
    switch (f->kind) {
    case FRAME_RESPONSE: link_deliver(l, f, body, attachment); return 0;
    case FRAME_PING: link_pong(l, f); return 0;
    case FRAME_PONG: return 0;
    case FRAME_REQUEST:
    case FRAME_CANCEL: break;
    }
    return err_set(err, ERR_CORRUPT, "frame: a request to a client");
}

/* --- signs of life ------------------------------------------------------- */

/* All links of a process are looked at together. */
static void set_alarm(struct link *l)
{
    uint64_t now_us = world_mono_ns(loop_world(loop_self())) / 1000;
    uint64_t every = l->options.ping_us;
    l->looked_us = now_us;
    fiber_set_deadline((now_us / every + 1) * every * 1000);
}

static int link_look(void *ctx, struct err *err)
{
    struct link *l = ctx;
    bool came = l->reader.bytes_in != l->bytes_seen;
    uint64_t now_us = world_mono_ns(loop_world(loop_self())) / 1000;
    uint64_t past_us = now_us - l->looked_us;
    l->bytes_seen = l->reader.bytes_in;
    l->silent_us = came ? 0 : l->silent_us + past_us;
    l->unused_us = l->was_used || l->calls.count ? 0 : l->unused_us + past_us;
    l->was_used = false;
    if (l->unused_us >= l->options.idle_us)
        return err_set(err, ERR_CLOSED, "nobody used it");
    if (l->silent_us >= l->options.dead_us)
        return err_set(err, ERR_CLOSED, "no sign of life for %llu ms",
                       (unsigned long long)l->silent_us / 1000);
    if (!came)
        frame_writer_post(&l->writer, &(struct frame){.kind = FRAME_PING});
    set_alarm(l);
    return 0;
}

/* --- the reading fiber --------------------------------------------------- */

static void link_lose(struct link *l, const char *why)
{
    size_t at = 0;
    struct hash_slot *s;
    err_set(&l->lost, ERR_UNAVAILABLE, "connection to %s lost: %s",
            stream_peer(l->stream), why);
    l->options.lost(l->options.ctx, l->silent_us >= l->options.dead_us);
    frame_writer_abandon(&l->writer);
    while ((s = hash_map_next(&l->calls, &at))) {
        struct link_call *k = s->value.pointer;
        link_finish(k, err_copy(k->err, &l->lost));
    }
    hash_map_clear(&l->calls);
}

static void read_answers(struct link *l)
{
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct frame f;
    struct err err = ERR_INIT;
    bool end = false;
    int rc = 0;
    set_alarm(l);
    while (rc == 0 && !end) {
        rc = frame_reader_header(&l->reader, &f, &end, &err);
        if (rc == 0 && !end)
            rc = take_frame(l, &f, &body, &attachment, &err);
    }
    fiber_set_deadline(0);
    link_lose(l, rc ? err.text : "closed by the peer");
    buf_close(&body);
    buf_close(&attachment);
}

static void run_link(void *arg)
{
    struct link *l = arg;
    struct link_options o = l->options;
    uint64_t bytes_in;
    uint64_t bytes_out;
    read_answers(l);
    while (l->caller_count)
        fiber_park();
    stream_close(l->stream);
    frame_writer_stop(&l->writer);
    bytes_in = l->reader.bytes_in;
    bytes_out = l->writer.bytes_out;
    frame_reader_close(&l->reader);
    shared_ring_free(l->ring);
    hash_map_close(&l->calls);
    mem_free(l);
    o.gone(o.ctx, bytes_in, bytes_out);
}

struct link *link_start(struct stream *s,
                        struct shared_ring *ring,
                        const struct link_options *o)
{
    struct link *l = mem_zalloc(1, sizeof(*l));
    l->options = *o;
    l->stream = s;
    l->ring = ring;
    /* Keys are in the calls: each leaves the map before it returns. */
    hash_map_init(&l->calls, HASH_KEYS_BORROWED);
    frame_reader_init(&l->reader, s, ring);
    l->reader.idle = link_look;
    l->reader.ctx = l;
    frame_writer_start(&l->writer, s, ring);
    l->fiber = fiber_start(loop_self(), "rpc client", run_link, l);
    fiber_detach(l->fiber);
    return l;
}

void link_close(struct link *l)
{
    fiber_cancel(l->fiber);
}

/* --- calls --------------------------------------------------------------- */

/* The caller returns: its memory must not be touched any more. */
static void link_forget(struct link *l, struct link_call *k)
{
    bool unsent = k->item && frame_writer_disown(&l->writer, k->item);
    hash_map_remove(&l->calls, hash_key_u64(&k->call_id), NULL);
    if (l->receiver == k) {
        l->receiver = NULL;
        l->sink = NULL;
    }
    if (unsent)
        k->queued = false;
    else
        frame_writer_post(&l->writer, &(struct frame){.kind = FRAME_CANCEL,
                                                      .call_id = k->call_id});
}

/* Park until the answer is complete and the request's slices are no longer
 * needed: an answer may come before all of its request was sent. */
static int link_await(struct link *l, struct link_call *k)
{
    int rc = 0;
    while (!k->done && rc == 0)
        rc = fiber_park_checked(k->err);
    if (k->done && k->item)
        (void)frame_writer_disown(&l->writer, k->item);
    if (k->done)
        return k->rc;
    link_forget(l, k);
    return rc;
}

static int link_send(struct link *l, struct frame *f, struct link_call *k)
{
    struct frame_hold hold = {.handle = &k->item};
    int rc = frame_writer_send(&l->writer, f, &hold, k->err);
    if (rc && l->lost.code)
        rc = err_copy(k->err, &l->lost);
    return rc;
}

int link_call(struct link *l, struct frame *f, struct link_call *k)
{
    int rc;
    bool added;
    PRE(k->call_id && !k->done);
    k->fiber = fiber_self();
    f->call_id = k->call_id;
    f->is_wide = l->options.version >= 2 && trace_id_is_set(f->trace);
    l->caller_count++;
    l->was_used = true;
    rc = l->lost.code ? err_copy(k->err, &l->lost) : link_send(l, f, k);
    if (rc == 0) {
        k->queued = true;
        hash_map_put(&l->calls, hash_key_u64(&k->call_id), &added)->pointer = k;
        INVARIANT(added); /* Ids are not used twice on a connection. */
        rc = link_await(l, k);
    }
    INVARIANT(!hash_map_get(&l->calls, hash_key_u64(&k->call_id))); /* INV-1 */
    l->caller_count--;
    if (l->lost.code && l->caller_count == 0)
        fiber_wake(l->fiber);
    return rc;
}

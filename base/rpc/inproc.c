/* The transport of the embedded mode: a call is a function call.
 *
 * The handler runs on the caller's fiber or thread, so that it costs nothing
 * more than looking its method up. Deadline and cancellation of the caller's
 * fiber hold for the handler by themselves.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/call_trace.h"
#include "base/rpc/channel.h"
#include "base/rpc/reply_parts.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"

struct inproc_channel {
    struct rpc_channel base;
    struct rpc_server *server; /* Borrowed. */
    struct world *world;       /* Borrowed. */
};

/* The attachment as one slice; @joined keeps it where it came in parts. */
static struct slice join(struct slice attachment,
                         const struct rpc_call_options *opts,
                         struct buf *joined)
{
    if (opts->part_count == 0)
        return attachment;
    buf_append_slice(joined, attachment);
    for (size_t i = 0; i < opts->part_count; i++)
        buf_append_slice(joined, opts->parts[i]);
    return buf_slice(joined);
}

/* Bring what the handler lent and what it wrote to where the caller wants it.
 */
static int deliver(struct rpc_call *call,
                   struct rpc_sink *into,
                   struct buf *written,
                   struct err *err)
{
    struct rpc_reply_parts *lent = call->reply_parts;
    size_t bytes = written->len + lent->bytes;
    int rc = 0;
    if (into && bytes > into->cap - into->len)
        rc = err_set(err, ERR_TOOBIG,
                     "answer of %zu bytes, there is room for %zu", bytes,
                     into->cap - into->len);
    for (size_t i = 0; i < lent->count && rc == 0; i++)
        buf_append_slice(written, lent->parts[i]);
    if (into && rc == 0 && bytes) {
        memcpy((char *)into->data + into->len, written->data, bytes);
        into->len += bytes;
    }
    reply_parts_release(lent);
    return rc;
}

static uint64_t trace_id_of(const struct rpc_call_options *opts)
{
    const struct call_context *outer = fiber_context();
    return opts->trace_id || !outer ? opts->trace_id : outer->trace_id;
}

static int inproc_call(struct rpc_channel *base,
                       uint32_t method,
                       const struct rpc_call_options *opts,
                       struct slice body,
                       struct slice attachment,
                       struct buf *reply_body,
                       struct buf *reply_attachment,
                       struct err *err)
{
    struct inproc_channel *c = CONTAINER_OF(base, struct inproc_channel, base);
    struct buf joined = BUF_INIT;
    struct buf sunk = BUF_INIT;
    struct rpc_reply_parts parts;
    uint64_t deadline = 0;
    uint64_t outer = 0;
    struct rpc_call call;
    int code = fiber_check(err);

    reply_parts_init(&parts);
    if (opts->sent)
        *opts->sent = code == 0;
    if (code)
        return code;
    if (opts->timeout_us)
        deadline = world_mono_ns(c->world) + opts->timeout_us * 1000;
    call = (struct rpc_call){.method = method,
                             .body = body,
                             .attachment = join(attachment, opts, &joined),
                             .principal = opts->act_as,
                             .actor = SLICE_EMPTY,
                             .peer = SLICE_EMPTY,
                             .deadline_mono_ns = deadline,
                             .trace_id = trace_id_of(opts),
                             .idempotency_key = opts->idempotency_key,
                             .reply_body = reply_body,
                             .reply_attachment =
                                 opts->into ? &sunk : reply_attachment,
                             .reply_parts = &parts};
    if (deadline && fiber_self()) {
        outer = fiber_set_deadline(deadline);
        if (outer && outer < deadline)
            fiber_set_deadline(outer); /* The nearer one holds. */
    }
    code = rpc_server_dispatch(c->server, &call, err);
    if (deadline && fiber_self())
        fiber_set_deadline(outer);
    if (code == 0)
        code = deliver(&call, opts->into, call.reply_attachment, err);
    reply_parts_release(&parts);
    buf_close(&joined);
    buf_close(&sunk);
    return code;
}

static void inproc_free(struct rpc_channel *base)
{
    mem_free(CONTAINER_OF(base, struct inproc_channel, base));
}

struct rpc_channel *rpc_inproc_channel_new(struct rpc_server *s)
{
    static const struct rpc_channel_ops ops = {inproc_call, inproc_free};
    struct inproc_channel *c = mem_zalloc(1, sizeof(*c));
    c->base.ops = &ops;
    c->server = s;
    c->world = rpc_server_world(s);
    return &c->base;
}

/* The transport of the embedded mode: a call is a function call.
 *
 * The handler runs on the caller's fiber or thread, so that it costs nothing
 * more than looking its method up. Deadline and cancellation of the caller's
 * fiber hold for the handler by themselves.
 */
#include "base/core/panic.h"
#include "base/rpc/channel.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"

struct inproc_channel {
    struct rpc_channel base;
    struct rpc_server *server; /* Borrowed. */
    struct world *world;       /* Borrowed. */
};

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
    uint64_t deadline = 0;
    uint64_t outer = 0;
    struct rpc_call call;
    int code = fiber_check(err);

    if (code)
        return code;
    if (opts->timeout_us)
        deadline = world_mono_ns(c->world) + opts->timeout_us * 1000;
    call = (struct rpc_call){.method = method,
                             .body = body,
                             .attachment = attachment,
                             .principal = SLICE_EMPTY,
                             .deadline_mono_ns = deadline,
                             .trace_id = opts->trace_id,
                             .idempotency_key = opts->idempotency_key,
                             .reply_body = reply_body,
                             .reply_attachment = reply_attachment};
    if (deadline && fiber_self()) {
        outer = fiber_set_deadline(deadline);
        if (outer && outer < deadline)
            fiber_set_deadline(outer); /* The nearer one holds. */
    }
    code = rpc_server_dispatch(c->server, &call, err);
    if (deadline && fiber_self())
        fiber_set_deadline(outer);
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

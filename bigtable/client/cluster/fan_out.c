/* The same work for many items, some at a time, on fibers of the loop. A worker
 * asks for its next item itself, so the items need no list; the first error
 * ends all.
 */
#include "bigtable/client/cluster/fan_out.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

#define WORKERS_MAX 64

struct fan {
    fan_fn fn;
    void *ctx;
    uint64_t deadline_ns;
    void *context; /* Of the caller, who waits. */
    int rc;        /* First failure; all end then. */
    struct err *err;
};

static void run_worker(void *arg)
{
    struct fan *f = arg;
    bool more = true;
    (void)fiber_set_deadline(f->deadline_ns);
    (void)fiber_set_context(f->context);
    while (more && f->rc == 0) {
        struct err err = ERR_INIT;
        int rc = f->fn(f->ctx, &more, &err);
        if (rc && f->rc == 0)
            f->rc = err_copy(f->err, &err);
    }
}

int fan_out(struct loop *loop,
            unsigned workers,
            fan_fn fn,
            void *ctx,
            struct err *err)
{
    struct fan f = {.fn = fn,
                    .ctx = ctx,
                    .deadline_ns = fiber_deadline(),
                    .context = fiber_context(),
                    .err = err};
    struct fiber *fibers[WORKERS_MAX];
    PRE(fn);
    workers = MIN_OF(workers, WORKERS_MAX);
    for (unsigned i = 0; i < workers; i++)
        fibers[i] = fiber_start(loop, "tables work", run_worker, &f);
    for (unsigned i = 0; i < workers; i++)
        fiber_join(fibers[i]);
    return f.rc;
}

/* Running a function in a transaction, again after conflicts: after a while
 * that doubles with each and is partly random, so that those that met do not
 * meet again.
 */
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/txn/txn.h"

#define BACK_OFF_US     ((uint64_t)500)
#define BACK_OFF_US_MAX ((uint64_t)100 * 1000)

static void back_off(struct world *w, unsigned tries)
{
    uint64_t us = BACK_OFF_US << MIN_OF(tries, 8U);
    us = MIN_OF(us, BACK_OFF_US_MAX);
    world_sleep_us(w, us / 2 + world_random(w) % us);
}

static int run_once(struct quarry *q,
                    const struct quarry_txn_options *opts,
                    quarry_txn_fn fn,
                    void *ctx,
                    struct err *err)
{
    struct quarry_txn *t;
    int rc = quarry_txn_begin(q, opts, &t, err);
    if (rc)
        return rc;
    rc = fn(t, ctx, err);
    if (rc == 0)
        rc = quarry_txn_commit(t, NULL, err);
    quarry_txn_close(t);
    return rc;
}

int quarry_txn_run(struct quarry *q,
                   const struct quarry_txn_options *opts,
                   quarry_txn_fn fn,
                   void *ctx,
                   struct err *err)
{
    struct quarry_txn_options o = {.timeout_us = 0};
    struct world *w = quarry_world(q);
    uint64_t end_ns;
    unsigned tries = 0;
    int rc;
    PRE(fn);
    if (opts)
        o = *opts;
    if (o.timeout_us == 0)
        o.timeout_us = TXN_TIMEOUT_US;
    end_ns = world_mono_ns(w) + o.timeout_us * 1000;
    for (;;) {
        uint64_t now_ns;
        rc = run_once(q, &o, fn, ctx, err);
        if (rc != ERR_CONFLICT)
            return rc;
        back_off(w, tries++);
        now_ns = world_mono_ns(w);
        if (now_ns >= end_ns)
            return rc;
        o.timeout_us = (end_ns - now_ns) / 1000 + 1;
    }
}

/* Items of a cluster are worked on by a few fibers of the client's loop, each
 * of which takes the next one when it is done. Their calls meet in the servers,
 * where those that come together share a sync of the log.
 */
#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/client/cluster/fan_out.h"

struct parallel_items {
    struct cluster *cluster;
    size_t count;
    size_t next;
    parallel_fn fn;
    void *ctx;
};

static int work_on_next(void *ctx, bool *more, struct err *err)
{
    struct parallel_items *p = ctx;
    INVARIANT(p->next <= p->count);
    *more = p->next < p->count;
    return *more ? p->fn(p->ctx, p->next++, err) : 0;
}

static int work_on_loop(void *arg, struct err *err)
{
    struct parallel_items *p = arg;
    return fan_out(p->cluster->loop,
                   (unsigned)MIN_OF(p->count, (size_t)PARALLEL_ITEMS_MAX),
                   work_on_next, p, err);
}

int cluster_parallel_for(struct quarry *q,
                         size_t count,
                         parallel_fn fn,
                         void *ctx,
                         struct err *err)
{
    struct parallel_items p = {
        .cluster = q->cluster, .count = count, .fn = fn, .ctx = ctx};
    PRE(fn);
    return cluster_do(q->cluster, "tables parallel", CLUSTER_NO_TIMEOUT,
                      work_on_loop, &p, err);
}

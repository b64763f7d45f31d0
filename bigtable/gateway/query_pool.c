/* A count of queries in front of a pool of as many threads: a query that
 * waits is a fiber, which costs little and sees when its caller has gone, and
 * never a thread. */
#include "bigtable/gateway/query_pool.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "bigtable/gateway/workers.h"

/* How often a waiting fiber looks whether its caller has gone. */
#define LOOK_US UINT64_C(50000)

struct query_pool {
    struct world *world; /* Borrowed. */
    struct workers *workers;
    struct mutex mutex; /* Guards all below. */
    struct cond left;   /* A query has left. */
    unsigned running_max;
    unsigned running_count;
    unsigned waiting_count;
};

struct query_pool *query_pool_new(struct world *w, unsigned running_max)
{
    struct query_pool *p = mem_zalloc(1, sizeof(*p));
    p->world = w;
    p->running_max = running_max ? running_max : QUERY_RUNNING_DEFAULT;
    p->workers = workers_new(w, p->running_max);
    mutex_init(&p->mutex);
    cond_init(&p->left);
    return p;
}

void query_pool_free(struct query_pool *p)
{
    if (!p)
        return;
    PRE(p->running_count == 0 && p->waiting_count == 0);
    workers_free(p->workers);
    cond_close(&p->left);
    mutex_close(&p->mutex);
    mem_free(p);
}

int query_pool_enter(struct query_pool *p, struct err *err)
{
    int rc = 0;
    mutex_lock(&p->mutex);
    if (p->waiting_count == QUERY_WAITING_MAX) {
        rc = err_set(err, ERR_EXHAUSTED, "%u queries run and %u wait",
                     p->running_count, p->waiting_count);
        goto out;
    }
    p->waiting_count++;
    while (rc == 0 && p->running_count == p->running_max) {
        (void)cond_wait_us(&p->left, &p->mutex, p->world, LOOK_US);
        rc = fiber_check(err);
    }
    p->waiting_count--;
    if (rc == 0)
        p->running_count++;
    INVARIANT(p->running_count <= p->running_max); /* INV-1 */
out:
    mutex_unlock(&p->mutex);
    return rc;
}

void query_pool_leave(struct query_pool *p)
{
    mutex_lock(&p->mutex);
    PRE(p->running_count > 0);
    p->running_count--;
    cond_signal(&p->left);
    mutex_unlock(&p->mutex);
}

void query_pool_run(struct query_pool *p,
                    void (*fn)(void *arg),
                    void (*interrupt)(void *arg),
                    void *arg)
{
    struct workers_piece piece = {.fn = fn, .arg = arg};
    PRE(p->running_count > 0);
    workers_begin(p->workers, &piece);
    while (!workers_await(p->workers, &piece, LOOK_US))
        if (interrupt && fiber_check(NULL))
            interrupt(arg);
}

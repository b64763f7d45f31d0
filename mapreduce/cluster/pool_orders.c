/* Orders to a worker of the pool: a fiber that sends those that have gathered.
 * One call carries many, since a call for each would bound the rate of small
 * tasks. */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "mapreduce/cluster/pool_state.h"

/* Orders in one call, about. */
#define ORDER_BYTES_MAX ((size_t)4 << 20)
/* Without orders; each new one wakes the fiber. */
#define ORDERS_REST_US UINT64_C(10000000)

void pool_peer_order(struct pool_peer *e,
                     struct pool_job *job,
                     enum worker_order_kind kind,
                     uint64_t ticket,
                     struct slice spec)
{
    struct pool_order *o = mem_zalloc(1, sizeof(*o));
    o->job = job;
    if (job)
        job->refs++;
    o->kind = kind;
    o->ticket = ticket;
    buf_append_slice(&o->spec, spec);
    log_debug(e->pool->world, "job-master",
              "worker %s: order kind=%d ticket=%llu", e->name, (int)kind,
              (unsigned long long)ticket);
    STAILQ_INSERT_TAIL(&e->orders, o, link);
    cond_signal(&e->wake);
}

static void free_order(struct pool_order *o)
{
    if (o->job)
        pool_job_unref(o->job);
    buf_close(&o->spec);
    mem_free(o);
}

/* May it be sent? If the worker does not have the job yet, sending the package
 * is begun. */
static bool can_send(struct pool_peer *e, const struct pool_order *o)
{
    PRE(o->job || o->kind == WORKER_KILL);
    if (o->kind == WORKER_KILL)
        return true;
    pool_peer_prepare(e, o->job);
    return pool_ready_of(e, o->job, true)->state == READY_YES;
}

/* Move the orders that can be sent to @out, in order. A kill that overtakes its
 * start would be lost: it stays after it. */
static void
take_orders(struct pool_peer *e, struct pool_orders *out, struct buf *bytes)
{
    struct pool_orders kept = STAILQ_HEAD_INITIALIZER(kept);
    struct pool_order *o;
    PRE(bytes->len == 0);
    while ((o = STAILQ_FIRST(&e->orders)) != NULL) {
        bool held = bytes->len > ORDER_BYTES_MAX || !can_send(e, o);
        const struct pool_order *k;
        STAILQ_FOREACH(k, &kept, link)
            held |= k->ticket == o->ticket;
        STAILQ_REMOVE_HEAD(&e->orders, link);
        if (held) {
            STAILQ_INSERT_TAIL(&kept, o, link);
            continue;
        }
        worker_order_put(
            &(struct worker_order){o->kind, o->ticket,
                                   slice_str(o->job ? o->job->id : ""),
                                   buf_slice(&o->spec)},
            bytes);
        STAILQ_INSERT_TAIL(out, o, link);
    }
    STAILQ_SWAP(&e->orders, &kept, pool_order);
}

void pool_orders_free(struct pool_orders *orders)
{
    struct pool_order *o;
    while ((o = STAILQ_FIRST(orders)) != NULL) {
        STAILQ_REMOVE_HEAD(orders, link);
        free_order(o);
    }
}

/* They go first the next time. A worker that has lost a job gets its package
 * again. */
static void
put_back(struct pool_peer *e, struct pool_orders *orders, bool again)
{
    struct pool_ready *r;
    STAILQ_CONCAT(orders, &e->orders);
    STAILQ_SWAP(orders, &e->orders, pool_order);
    if (!again)
        return;
    LIST_FOREACH(r, &e->readies, link)
        if (r->state == READY_YES)
            r->state = READY_NOT;
}

static void
send_orders(struct pool_peer *e, struct pool_orders *orders, struct slice bytes)
{
    struct worker_pool *p = e->pool;
    const struct worker_head head = pool_peer_head(e, NULL);
    struct buf body = BUF_INIT;
    struct err err = ERR_INIT;
    int rc;
    worker_head_put(&head, &body);
    mutex_unlock(&p->lock);
    rc = pool_peer_call(e, WORKER_ORDER, p->options.order_us, &body, bytes,
                        NULL, &err);
    mutex_lock(&p->lock);
    buf_close(&body);
    if (rc == 0)
        return;
    pool_peer_judge(e, rc, &err);
    put_back(e, orders, rc == ERR_NOTFOUND);
    if (e->state != PEER_GONE)
        pool_peer_pause(e, POOL_AGAIN_US);
}

void pool_orders_run(void *arg)
{
    struct pool_peer *e = arg;
    struct worker_pool *p = e->pool;
    mutex_lock(&p->lock);
    while (e->state != PEER_GONE && fiber_check(NULL) == 0) {
        struct pool_orders orders = STAILQ_HEAD_INITIALIZER(orders);
        struct buf bytes = BUF_INIT;
        take_orders(e, &orders, &bytes);
        if (STAILQ_EMPTY(&orders))
            (void)cond_wait_us(&e->wake, &p->lock, p->world,
                               STAILQ_EMPTY(&e->orders) ? ORDERS_REST_US
                                                        : POOL_AGAIN_US);
        else
            send_orders(e, &orders, buf_slice(&bytes));
        pool_orders_free(&orders);
        buf_close(&bytes);
    }
    pool_peer_finish(e);
    mutex_unlock(&p->lock);
}

/* Orders of @job to start attempts there fail: another worker may do better. */
void pool_orders_fail(struct pool_peer *e,
                      struct pool_job *job,
                      const struct err *err)
{
    struct pool_orders kept = STAILQ_HEAD_INITIALIZER(kept);
    struct pool_order *o;
    PRE(err);
    while ((o = STAILQ_FIRST(&e->orders)) != NULL) {
        struct pool_attempt *a = pool_peer_attempt(e, o->ticket);
        STAILQ_REMOVE_HEAD(&e->orders, link);
        if (o->job != job) {
            STAILQ_INSERT_TAIL(&kept, o, link);
            continue;
        }
        if (a && a->host) {
            struct task_status s = {.stage = STATUS_IDLE};
            struct attempt_event event = {.reported = true};
            task_report_init(&event.report);
            event.report.code = err_copy(&event.report.err, err);
            cell_host_end(a->host, a->slot, &event, &s);
        }
        if (a)
            pool_peer_drop(e, a);
        free_order(o);
    }
    STAILQ_SWAP(&e->orders, &kept, pool_order);
}

/* The job master's calls to a worker. Each carries the sequencer of the
 * master's lock: a master that lost the lock is refused, and a new one's first
 * call ends what the old one had begun. */
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/rpc.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "chubby-lite/chubby.h"
#include "mapreduce/cluster/worker_state.h"

/* A sequencer is checked again after this time. */
#define TRUSTED_NS UINT64_C(1000000000)
/* While attempts run, news are sent this often. */
#define TELL_US     UINT64_C(100000)
#define WAIT_US_MAX UINT64_C(10000000)
/* Of news in one answer, about. */
#define NEWS_BYTES_MAX ((size_t)8 << 20)

/* --- whose orders -------------------------------------------------------- */

static int check_sequencer(struct worker *k, struct slice s, struct err *err)
{
    uint64_t now = world_mono_ns(k->world);
    int rc;
    if (slice_eq(s, buf_slice(&k->trusted)) && now - k->trusted_ns < TRUSTED_NS)
        return 0;
    k->asking++;
    rc = chubby_check_sequencer(k->chubby, s, err);
    k->asking--;
    if (rc == ERR_ABORTED || rc == ERR_INVALID)
        return err_set(err, ERR_DENIED, "this is not the present job master");
    if (rc)
        return rc;
    buf_clear(&k->trusted);
    buf_append_slice(&k->trusted, s);
    k->trusted_ns = now;
    return 0;
}

/* A new master: end what the old one had begun; spills of maps stay. */
static void change_pool(struct worker *k, uint64_t pool)
{
    struct worker_job *j;
    struct worker_attempt *a;
    struct worker_told *t;
    k->pool = pool;
    LIST_FOREACH(j, &k->jobs, link) {
        TAILQ_FOREACH(a, &j->attempts, link)
            a->killed = true;
        worker_pull_reset(j);
        worker_job_wake(j);
    }
    while ((t = TAILQ_FIRST(&k->told)) != NULL) {
        TAILQ_REMOVE(&k->told, t, link);
        buf_close(&t->event);
        mem_free(t);
    }
}

/* Check the head of a call. On success the lock is held. */
static int worker_calls_enter(struct worker *k,
                              const struct worker_head *h,
                              struct err *err)
{
    int rc;
    if (h->number != k->number)
        return err_set(err, ERR_CLOSED, "this worker is another one now");
    if (!k->joined || k->lost)
        return err_set(err, ERR_UNAVAILABLE, "this worker is not in the cell");
    rc = check_sequencer(k, h->sequencer, err);
    if (rc)
        return rc;
    mutex_lock(&k->lock);
    if (k->stopping) {
        mutex_unlock(&k->lock);
        return err_set(err, ERR_UNAVAILABLE, "this worker is stopping");
    }
    if (h->pool != k->pool)
        change_pool(k, h->pool);
    return 0;
}

/* --- jobs ---------------------------------------------------------------- */

static int
worker_calls_prepare(void *ctx, struct rpc_call *call, struct err *err)
{
    struct worker *k = ctx;
    struct worker_job *j = NULL;
    struct worker_head h;
    int rc = worker_head_get(call->body, &h, err);
    if (rc == 0 && !worker_job_id_ok(h.job))
        rc = err_set(err, ERR_INVALID, "a job has no such name");
    if (rc == 0)
        rc = worker_calls_enter(k, &h, err);
    if (rc)
        return rc;
    rc = worker_job_prepare(k, h.job, call->attachment, &j, err);
    if (rc == 0) {
        buf_append_slice(call->reply_attachment, buf_slice(&j->traits));
        worker_job_release(j);
    }
    mutex_unlock(&k->lock);
    return rc;
}

static int
worker_calls_forget(void *ctx, struct rpc_call *call, struct err *err)
{
    struct worker *k = ctx;
    struct worker_job *j;
    struct worker_head h;
    int rc = worker_head_get(call->body, &h, err);
    if (rc == 0)
        rc = worker_calls_enter(k, &h, err);
    if (rc)
        return rc;
    j = worker_job_find(k, h.job);
    if (j)
        worker_job_end(j);
    mutex_unlock(&k->lock);
    return 0;
}

/* --- orders -------------------------------------------------------------- */

static int worker_calls_obey(struct worker *k,
                             const struct worker_order *o,
                             struct err *err)
{
    struct worker_job *j;
    if (o->kind == WORKER_KILL) {
        worker_attempt_kill(k, o->ticket);
        return 0;
    }
    j = worker_job_find(k, o->job);
    if (!j || j->state != WORKER_JOB_READY)
        return err_set(err, ERR_NOTFOUND, "job %.*s is not here",
                       SLICE_ARG(o->job));
    j->asked_ns = world_mono_ns(k->world);
    if (o->kind == WORKER_PULL)
        return worker_pull_order(j, o->ticket, o->spec, err);
    return worker_attempt_order(j, o->ticket, o->spec, err);
}

static int worker_calls_order(void *ctx, struct rpc_call *call, struct err *err)
{
    struct worker *k = ctx;
    struct cursor in = cursor_make(call->attachment);
    struct worker_head h;
    int rc = worker_head_get(call->body, &h, err);
    if (rc == 0)
        rc = worker_calls_enter(k, &h, err);
    if (rc)
        return rc;
    while (rc == 0 && cursor_left(&in) > 0) {
        struct worker_order o;
        worker_order_get(&in, &o);
        if (in.bad)
            rc = err_set(err, ERR_CORRUPT, "malformed orders");
        else
            rc = worker_calls_obey(k, &o, err);
    }
    mutex_unlock(&k->lock);
    return rc;
}

/* --- news ---------------------------------------------------------------- */

static void drop_heard(struct worker *k, uint64_t seen)
{
    struct worker_told *t;
    while ((t = TAILQ_FIRST(&k->told)) != NULL && t->serial <= seen) {
        TAILQ_REMOVE(&k->told, t, link);
        buf_close(&t->event);
        mem_free(t);
    }
}

static void put_running(const struct worker *k, struct buf *out)
{
    const struct worker_job *j;
    const struct worker_attempt *a;
    uint64_t count = 0;
    LIST_FOREACH(j, &k->jobs, link)
        TAILQ_FOREACH(a, &j->attempts, link)
            count++;
    buf_put_varint(out, count);
    LIST_FOREACH(j, &k->jobs, link)
        TAILQ_FOREACH(a, &j->attempts, link) {
            buf_put_varint(out, a->ticket);
            worker_status_put(worker_attempt_status(a), false, out);
        }
}

static void put_news(const struct worker *k, struct buf *out)
{
    const struct worker_told *t;
    uint64_t count = 0;
    size_t bytes = 0;
    TAILQ_FOREACH(t, &k->told, link) {
        if (bytes > NEWS_BYTES_MAX)
            break;
        bytes += t->event.len;
        count++;
    }
    buf_put_varint(out, count);
    TAILQ_FOREACH(t, &k->told, link) {
        if (count-- == 0)
            break;
        buf_put_varint(out, t->serial);
        buf_put_varint(out, t->ticket);
        buf_put_lslice(out, buf_slice(&t->event));
    }
}

static bool any_attempt(const struct worker *k)
{
    const struct worker_job *j;
    LIST_FOREACH(j, &k->jobs, link)
        if (!TAILQ_EMPTY(&j->attempts))
            return true;
    return false;
}

/* Wait until there are news; with attempts, no longer than TELL_US. */
static void wait_for_news(struct worker *k, uint64_t wait_us)
{
    uint64_t begun = world_mono_ns(k->world);
    uint64_t pool = k->pool;
    wait_us = MIN_OF(wait_us, WAIT_US_MAX);
    while (TAILQ_EMPTY(&k->told) && !k->stopping && k->pool == pool &&
           fiber_check(NULL) == 0) {
        uint64_t waited = (world_mono_ns(k->world) - begun) / 1000;
        uint64_t most = any_attempt(k) ? MIN_OF(wait_us, TELL_US) : wait_us;
        if (waited >= most)
            return;
        (void)cond_wait_us(&k->news, &k->lock, k->world, most - waited);
    }
}

static int worker_calls_watch(void *ctx, struct rpc_call *call, struct err *err)
{
    struct worker *k = ctx;
    struct worker_watch w;
    struct worker_job *j;
    int rc = worker_watch_get(call->body, &w, err);
    if (rc == 0)
        rc = worker_calls_enter(k, &w.head, err);
    if (rc)
        return rc;
    drop_heard(k, w.seen);
    wait_for_news(k, w.wait_us);
    LIST_FOREACH(j, &k->jobs, link)
        if (!TAILQ_EMPTY(&j->attempts))
            j->asked_ns = world_mono_ns(k->world);
    put_running(k, call->reply_attachment);
    put_news(k, call->reply_attachment);
    mutex_unlock(&k->lock);
    return 0;
}

void worker_add_calls(struct worker *k, struct rpc_server *server)
{
    static const struct rpc_method methods[] = {
        {WORKER_PREPARE, "worker.prepare", worker_calls_prepare,
         RPC_METHOD_INTERNAL},
        {WORKER_ORDER, "worker.order", worker_calls_order, RPC_METHOD_INTERNAL},
        {WORKER_WATCH, "worker.watch", worker_calls_watch,
         RPC_METHOD_INTERNAL | RPC_METHOD_WAITS},
        {WORKER_FORGET, "worker.forget", worker_calls_forget,
         RPC_METHOD_INTERNAL},
        {WORKER_SPILL_INDEX, "worker.spill_index", worker_spill_index,
         RPC_METHOD_INTERNAL},
        {WORKER_SPILL_READ, "worker.spill_read", worker_spill_read,
         RPC_METHOD_INTERNAL},
    };
    rpc_server_add(server, methods, ARRAY_LEN(methods), k);
}

/* Packages of jobs on a worker of the pool: one fiber for each that is on its
 * way, to the worker or off it. A job's package goes to a worker once, before
 * its first order, and again where the worker has lost the job. */
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/pool_state.h"

/* A package may hold large files. */
#define PREPARE_US UINT64_C(600000000)

/* --- packages ------------------------------------------------------------ */

struct pool_ready *
pool_ready_of(struct pool_peer *e, struct pool_job *job, bool add)
{
    struct pool_ready *r;
    LIST_FOREACH(r, &e->readies, link)
        if (r->job == job)
            return r;
    if (!add)
        return NULL;
    r = mem_zalloc(1, sizeof(*r));
    r->job = job;
    r->peer = e;
    job->refs++;
    LIST_INSERT_HEAD(&e->readies, r, link);
    return r;
}

static void pool_package_loaded(struct pool_job *job, struct slice traits)
{
    struct err err = ERR_INIT;
    if (job->loaded || job->failed)
        return;
    if (job_traits_decode(&job->traits, traits, &err)) {
        job->failed = true;
        job->why = err;
    } else {
        job->loaded = true;
    }
}

/* Errors of the code itself, which every worker would have. */
static bool is_of_code(int code)
{
    return code == ERR_NOTFOUND || code == ERR_INVALID ||
           code == ERR_UNSUPPORTED || code == ERR_ABORTED ||
           code == ERR_CORRUPT;
}

static void not_loaded(struct pool_ready *r, int code, const struct err *err)
{
    struct pool_peer *e = r->peer;
    struct cell_host *h;
    r->state = READY_NOT;
    r->failed_ns = world_mono_ns(e->pool->world);
    if (code == ERR_UNAVAILABLE || code == ERR_DEADLINE ||
        code == ERR_CANCELLED || code == ERR_CLOSED)
        return;
    if (is_of_code(code) && !r->job->loaded && !r->job->failed) {
        r->job->failed = true;
        r->job->why = *err;
    }
    log_info(e->pool->world, "job-master", "job %s on worker %s: %s",
             r->job->id, e->name, err->text);
    pool_orders_fail(e, r->job, err);
    for (h = cell_host_first(e->pool); h; h = cell_host_next(h))
        cell_host_ring(h);
}

static void run_prepare(void *arg)
{
    struct pool_ready *r = arg;
    struct pool_peer *e = r->peer;
    struct worker_pool *p = e->pool;
    const struct worker_head head = pool_peer_head(e, r->job->id);
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    struct cell_host *h;
    int rc;
    worker_head_put(&head, &body);
    rc = pool_peer_call(e, WORKER_PREPARE, PREPARE_US, &body,
                        buf_slice(&r->job->package), &reply, &err);
    mutex_lock(&p->lock);
    if (rc == 0) {
        r->state = READY_YES;
        r->failed_ns = 0;
        pool_package_loaded(r->job, buf_slice(&reply));
    } else {
        pool_peer_judge(e, rc, &err);
        not_loaded(r, rc, &err);
    }
    if (r->job->forgotten && e->state == PEER_UP)
        pool_peer_forget(e, r->job);
    for (h = cell_host_first(p); h; h = cell_host_next(h))
        cell_host_ring(h);
    cond_signal(&e->wake);
    pool_peer_finish(e);
    mutex_unlock(&p->lock);
    buf_close(&body);
    buf_close(&reply);
}

void pool_peer_prepare(struct pool_peer *e, struct pool_job *job)
{
    struct pool_ready *r = pool_ready_of(e, job, true);
    uint64_t now = world_mono_ns(e->pool->world);
    if (r->state != READY_NOT || job->forgotten ||
        (r->failed_ns > 0 && now - r->failed_ns < POOL_AGAIN_US * 1000))
        return;
    r->state = READY_COMING;
    pool_peer_begin(e, "worker-prepare", run_prepare, r);
}

/* --- the end of a job ---------------------------------------------------- */

static void run_forget(void *arg)
{
    struct pool_ready *r = arg;
    struct pool_peer *e = r->peer;
    struct worker_pool *p = e->pool;
    const struct worker_head head = pool_peer_head(e, r->job->id);
    struct buf body = BUF_INIT;
    worker_head_put(&head, &body);
    mutex_lock(&p->lock);
    while (e->state == PEER_UP && !p->stopping && fiber_check(NULL) == 0) {
        struct err err = ERR_INIT;
        int rc;
        mutex_unlock(&p->lock);
        rc = pool_peer_call(e, WORKER_FORGET, p->options.order_us, &body,
                            SLICE_EMPTY, NULL, &err);
        mutex_lock(&p->lock);
        if (rc != ERR_UNAVAILABLE && rc != ERR_DEADLINE)
            break;
        pool_peer_pause(e, POOL_AGAIN_US);
    }
    LIST_REMOVE(r, link);
    pool_job_unref(r->job);
    mem_free(r);
    pool_peer_finish(e);
    mutex_unlock(&p->lock);
    buf_close(&body);
}

void pool_peer_forget(struct pool_peer *e, struct pool_job *job)
{
    struct pool_ready *r = pool_ready_of(e, job, false);
    job->forgotten = true;
    /* One that is on its way checks again when it has arrived. */
    if (!r || r->state == READY_COMING)
        return;
    r->state = READY_COMING;
    pool_peer_begin(e, "worker-forget", run_forget, r);
}

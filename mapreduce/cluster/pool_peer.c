/* One worker of the pool: its life, and how it is called. A peer lives until
 * its last fiber has ended, even when the worker is gone: fibers find out by
 * the channel being closed. */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/pool_state.h"

/* --- fibers -------------------------------------------------------------- */

struct starting {
    struct worker_pool *pool;
    const char *name;
    fiber_fn fn;
    void *arg;
};

/* On the pool's loop. */
static void start_fiber(void *arg)
{
    struct starting *s = arg;
    fiber_detach(fiber_start(s->pool->loop, s->name, s->fn, s->arg));
    mem_free(s);
}

/* On any thread; the fiber counts from now on. */
void pool_peer_begin(struct pool_peer *e,
                     const char *name,
                     fiber_fn fn,
                     void *arg)
{
    struct starting *s = mem_alloc(sizeof(*s));
    *s = (struct starting){e->pool, name, fn, arg};
    e->fibers++;
    loop_post(e->pool->loop, start_fiber, s);
}

/* Under the lock. The peer may be freed once it is released. */
void pool_peer_finish(struct pool_peer *e)
{
    PRE(e->fibers > 0);
    e->fibers--;
    cond_broadcast(&e->pool->changed);
}

/* Without the lock. */
int pool_peer_call(struct pool_peer *e,
                   uint32_t method,
                   uint64_t timeout_us,
                   const struct buf *body,
                   struct slice attachment,
                   struct buf *reply,
                   struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = timeout_us};
    if (!e->channel)
        return err_set(err, ERR_UNAVAILABLE, "the worker is gone");
    return rpc_call(e->channel, method, &o, buf_slice(body), attachment, NULL,
                    reply, err);
}

struct worker_head pool_peer_head(const struct pool_peer *e, const char *job)
{
    return (struct worker_head){slice_str(e->pool->sequencer), e->record.number,
                                e->pool->id, slice_str(job ? job : "")};
}

void pool_peer_pause(struct pool_peer *e, uint64_t us)
{
    mutex_unlock(&e->pool->lock);
    world_sleep_us(e->pool->world, us);
    mutex_lock(&e->pool->lock);
}

/* Judge what an error says about the peer, or about this master. */
void pool_peer_judge(struct pool_peer *e, int code, const struct err *err)
{
    if (code == ERR_CLOSED) {
        e->dead = true;
        pool_peer_bury(e, "it began a new life");
    }
    if (code == ERR_DENIED) {
        e->pool->denied = true;
        log_info(e->pool->world, "job-master", "worker %s: %s", e->name,
                 err->text);
    }
}

struct pool_attempt *pool_peer_attempt(struct pool_peer *e, uint64_t ticket)
{
    struct pool_attempt *a;
    LIST_FOREACH(a, &e->attempts, link)
        if (a->ticket == ticket)
            return a;
    return NULL;
}

void pool_peer_drop(struct pool_peer *e, struct pool_attempt *a)
{
    PRE(e->busy > 0); /* INV-1 */
    INVARIANT(e->used_bytes >= a->bytes);
    LIST_REMOVE(a, link);
    e->busy--;
    e->used_bytes -= a->bytes;
    mem_free(a);
}

/* --- coming and going ---------------------------------------------------- */

static char *pool_peer_copy_text(struct slice s)
{
    return mem_strndup(s.data, s.len);
}

struct pool_peer *
pool_peer_new(struct worker_pool *p, uint32_t index, struct slice file)
{
    const struct rpc_channel_options channel = {
        .security = p->options.security, .backoff_max_us = UINT64_C(200000)};
    struct pool_peer *e = mem_zalloc(1, sizeof(*e));
    struct buf place = BUF_INIT;
    char *address;
    e->pool = p;
    e->index = index;
    buf_append_slice(&e->file, file);
    if (worker_record_get(buf_slice(&e->file), &e->record, NULL))
        PANIC("a record that was read before");
    e->name = pool_peer_copy_text(e->record.name);
    worker_place_put(&e->record, &place);
    e->place = buf_take(&place);
    e->host = pool_machine(p, e->record.machine, true);
    e->heard_ns = world_mono_ns(p->world);
    LIST_INIT(&e->attempts);
    LIST_INIT(&e->readies);
    STAILQ_INIT(&e->orders);
    cond_init(&e->wake);
    address = pool_peer_copy_text(e->record.address);
    e->channel = rpc_channel_new(address, &channel);
    mem_free(address);
    pool_peer_begin(e, "worker-watch", pool_hear_run, e);
    pool_peer_begin(e, "worker-orders", pool_orders_run, e);
    return e;
}

void pool_peer_bury(struct pool_peer *e, const char *why)
{
    struct worker_pool *p = e->pool;
    struct pool_attempt *a;
    struct cell_host *h;
    char text[128];
    if (e->state == PEER_GONE)
        return;
    log_info(p->world, "job-master", "worker %s at %.*s is gone: %s", e->name,
             SLICE_ARG(e->record.address), why);
    e->state = PEER_GONE;
    snprintf(text, sizeof(text), "worker %.60s is gone: %.40s", e->name, why);
    while ((a = LIST_FIRST(&e->attempts)) != NULL) {
        if (a->host)
            cell_host_lose(a->host, a->slot, text);
        pool_peer_drop(e, a);
    }
    for (h = cell_host_first(p); h; h = cell_host_next(h))
        cell_host_peer_gone(h, e->index);
    cond_broadcast(&e->wake);
    cond_broadcast(&p->changed);
}

void pool_peer_set_silent(struct pool_peer *e)
{
    struct cell_host *h;
    e->silent = true;
    log_info(e->pool->world, "job-master", "worker %s is silent", e->name);
    for (h = cell_host_first(e->pool); h; h = cell_host_next(h))
        cell_host_peer_silent(h, e);
}

void pool_peer_hang_up(struct pool_peer *e)
{
    struct rpc_channel *c = e->channel;
    e->channel = NULL;
    if (!c)
        return;
    mutex_unlock(&e->pool->lock);
    rpc_channel_free(c);
    mutex_lock(&e->pool->lock);
}

void pool_peer_free(struct pool_peer *e)
{
    PRE(e->fibers == 0);
    struct pool_ready *r;
    PRE(e->fibers == 0);
    PRE(e->channel == NULL);
    mutex_lock(&e->pool->lock);
    while ((r = LIST_FIRST(&e->readies)) != NULL) {
        LIST_REMOVE(r, link);
        pool_job_unref(r->job);
        mem_free(r);
    }
    pool_orders_free(&e->orders);
    mutex_unlock(&e->pool->lock);
    cond_close(&e->wake);
    buf_close(&e->file);
    mem_free(e->name);
    mem_free(e->place);
    mem_free(e);
}

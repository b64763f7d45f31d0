/* One worker of the pool: a fiber that hears it, a fiber that gives it orders,
 * and one for each package that is under way. */
#include <stdio.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/pool_state.h"

/* How long a worker with nothing to say keeps a question. */
#define WATCH_US UINT64_C(500000)
/* An answer that takes longer than that is none. */
#define ANSWER_US UINT64_C(4000000)
/* Between tries. */
#define AGAIN_US UINT64_C(100000)
/* A package may hold large files. */
#define PREPARE_US UINT64_C(600000000)
/* Orders in one call, about. */
#define ORDER_BYTES_MAX ((size_t)4 << 20)

/* --- fibers ----------------------------------------------------------------
 */

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

/* From whatever thread; the fiber counts from now on. */
static void begin(struct pool_peer *e, const char *name, fiber_fn fn, void *arg)
{
    struct starting *s = mem_alloc(sizeof(*s));
    *s = (struct starting){e->pool, name, fn, arg};
    e->fibers++;
    loop_post(e->pool->loop, start_fiber, s);
}

/* Under the lock. The peer may be freed once it is released. */
static void finish(struct pool_peer *e)
{
    e->fibers--;
    cond_broadcast(&e->pool->changed);
}

/* Without the lock. */
static int peer_call(struct pool_peer *e,
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

static struct worker_head head_of(const struct pool_peer *e, const char *job)
{
    return (struct worker_head){slice_str(e->pool->sequencer), e->record.number,
                                e->pool->id, slice_str(job ? job : "")};
}

static void pause_us(struct pool_peer *e, uint64_t us)
{
    mutex_unlock(&e->pool->lock);
    world_sleep_us(e->pool->world, us);
    mutex_lock(&e->pool->lock);
}

/* What an error says of the peer, or of this master. */
static void judge(struct pool_peer *e, int code, const struct err *err)
{
    if (code == ERR_CLOSED)
        pool_peer_bury(e, "it began a new life");
    if (code == ERR_DENIED) {
        e->pool->denied = true;
        log_info(e->pool->world, "job-master", "worker %s: %s", e->name,
                 err->text);
    }
}

/* --- hearing ---------------------------------------------------------------
 */

static struct pool_attempt *find(struct pool_peer *e, uint64_t ticket)
{
    struct pool_attempt *a;
    LIST_FOREACH(a, &e->attempts, link)
    if (a->ticket == ticket)
        return a;
    return NULL;
}

static void drop(struct pool_peer *e, struct pool_attempt *a)
{
    LIST_REMOVE(a, link);
    e->busy--;
    e->used_bytes -= a->bytes;
    mem_free(a);
}

static void hear_status(struct pool_peer *e, struct cursor *in)
{
    struct task_status s = {.stage = STATUS_IDLE};
    uint64_t ticket = cursor_varint(in);
    struct pool_attempt *a;
    worker_status_get(in, &s);
    if (in->bad)
        return;
    a = find(e, ticket);
    if (!a)
        pool_peer_order(e, NULL, WORKER_KILL, ticket, SLICE_EMPTY);
    else if (a->host)
        cell_host_status(a->host, a->slot, &s);
}

static void hear_news(struct pool_peer *e, struct cursor *in)
{
    struct task_status s = {.stage = STATUS_IDLE};
    struct attempt_event event;
    struct err err = ERR_INIT;
    uint64_t serial = cursor_varint(in);
    uint64_t ticket = cursor_varint(in);
    struct slice bytes = cursor_lslice(in);
    struct pool_attempt *a = find(e, ticket);
    if (in->bad || serial <= e->seen)
        return;
    e->seen = serial;
    if (!a)
        return;
    if (worker_event_get(bytes, &event, &s, &err)) {
        event.reported = false;
        snprintf(event.death, sizeof(event.death), "%.*s",
                 (int)sizeof(event.death) - 1, err.text);
    }
    if (a->host)
        cell_host_end(a->host, a->slot, &event, &s);
    else
        attempt_event_close(&event);
    drop(e, a);
}

static void hear(struct pool_peer *e, struct slice reply)
{
    struct cursor in = cursor_make(reply);
    size_t count = cursor_count(&in, 10);
    for (size_t i = 0; i < count && !in.bad; i++)
        hear_status(e, &in);
    count = cursor_count(&in, 3);
    for (size_t i = 0; i < count && !in.bad; i++)
        hear_news(e, &in);
}

/* It has answered. */
static void take_in(struct pool_peer *e)
{
    struct worker_pool *p = e->pool;
    struct cell_host *h;
    e->heard_ns = world_mono_ns(p->world);
    e->refused_ns = 0;
    if (e->silent)
        log_info(p->world, "job-master", "worker %s is heard again", e->name);
    e->silent = false;
    if (e->state != PEER_NEW)
        return;
    e->state = PEER_UP;
    log_info(p->world, "job-master", "worker %s at %.*s is up: %u slots",
             e->name, SLICE_ARG(e->record.address), e->record.slots);
    for (h = cell_host_first(p); h; h = cell_host_next(h)) {
        pool_peer_prepare(e, cell_host_job(h));
        cell_host_ring(h);
    }
    cond_broadcast(&p->changed);
}

static void not_heard(struct pool_peer *e, int code, const struct err *err)
{
    uint64_t now = world_mono_ns(e->pool->world);
    judge(e, code, err);
    if (code == ERR_UNAVAILABLE && e->refused_ns == 0)
        e->refused_ns = now;
    if (e->state != PEER_GONE)
        pause_us(e, AGAIN_US);
}

static void run_watch(void *arg)
{
    struct pool_peer *e = arg;
    struct worker_pool *p = e->pool;
    mutex_lock(&p->lock);
    while (e->state != PEER_GONE && fiber_check(NULL) == 0) {
        struct worker_watch w = {head_of(e, NULL), e->seen,
                                 e->state == PEER_NEW ? 0 : WATCH_US};
        struct buf body = BUF_INIT;
        struct buf reply = BUF_INIT;
        struct err err = ERR_INIT;
        int code;
        worker_watch_put(&w, &body);
        mutex_unlock(&p->lock);
        code = peer_call(e, WORKER_WATCH, ANSWER_US, &body, SLICE_EMPTY, &reply,
                         &err);
        mutex_lock(&p->lock);
        if (e->state != PEER_GONE && code == 0) {
            take_in(e);
            hear(e, buf_slice(&reply));
        } else if (e->state != PEER_GONE) {
            not_heard(e, code, &err);
        }
        buf_close(&body);
        buf_close(&reply);
    }
    finish(e);
    mutex_unlock(&p->lock);
}

/* --- packages --------------------------------------------------------------
 */

static struct pool_ready *
ready_of(struct pool_peer *e, struct pool_job *job, bool add)
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

static void loaded(struct pool_job *job, struct slice traits)
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

/* The code cannot be loaded anywhere when it cannot be for these reasons. */
static bool is_of_code(int code)
{
    return code == ERR_NOTFOUND || code == ERR_INVALID ||
           code == ERR_UNSUPPORTED || code == ERR_ABORTED ||
           code == ERR_CORRUPT;
}

/* Attempts that were meant for it there fail: another worker may do better. */
static void
fail_orders(struct pool_peer *e, struct pool_job *job, const struct err *err)
{
    struct pool_orders kept = STAILQ_HEAD_INITIALIZER(kept);
    struct pool_order *o;
    while ((o = STAILQ_FIRST(&e->orders)) != NULL) {
        struct pool_attempt *a = find(e, o->ticket);
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
            drop(e, a);
        pool_job_unref(o->job);
        buf_close(&o->spec);
        mem_free(o);
    }
    STAILQ_SWAP(&e->orders, &kept, pool_order);
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
    fail_orders(e, r->job, err);
    for (h = cell_host_first(e->pool); h; h = cell_host_next(h))
        cell_host_ring(h);
}

static void run_prepare(void *arg)
{
    struct pool_ready *r = arg;
    struct pool_peer *e = r->peer;
    struct worker_pool *p = e->pool;
    const struct worker_head head = head_of(e, r->job->id);
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    struct cell_host *h;
    int code;
    worker_head_put(&head, &body);
    code = peer_call(e, WORKER_PREPARE, PREPARE_US, &body,
                     buf_slice(&r->job->package), &reply, &err);
    mutex_lock(&p->lock);
    if (code == 0) {
        r->state = READY_YES;
        r->failed_ns = 0;
        loaded(r->job, buf_slice(&reply));
    } else {
        judge(e, code, &err);
        not_loaded(r, code, &err);
    }
    if (r->job->forgotten && e->state == PEER_UP)
        pool_peer_forget(e, r->job);
    for (h = cell_host_first(p); h; h = cell_host_next(h))
        cell_host_ring(h);
    cond_signal(&e->wake);
    finish(e);
    mutex_unlock(&p->lock);
    buf_close(&body);
    buf_close(&reply);
}

void pool_peer_prepare(struct pool_peer *e, struct pool_job *job)
{
    struct pool_ready *r = ready_of(e, job, true);
    uint64_t now = world_mono_ns(e->pool->world);
    if (r->state != READY_NOT || job->forgotten ||
        (r->failed_ns > 0 && now - r->failed_ns < AGAIN_US * 1000))
        return;
    r->state = READY_COMING;
    begin(e, "worker-prepare", run_prepare, r);
}

/* --- the end of a job -------------------------------------------------------
 */

static void run_forget(void *arg)
{
    struct pool_ready *r = arg;
    struct pool_peer *e = r->peer;
    struct worker_pool *p = e->pool;
    const struct worker_head head = head_of(e, r->job->id);
    struct buf body = BUF_INIT;
    worker_head_put(&head, &body);
    mutex_lock(&p->lock);
    while (e->state == PEER_UP && !p->stopping && fiber_check(NULL) == 0) {
        struct err err = ERR_INIT;
        int code;
        mutex_unlock(&p->lock);
        code = peer_call(e, WORKER_FORGET, p->options.order_us, &body,
                         SLICE_EMPTY, NULL, &err);
        mutex_lock(&p->lock);
        if (code != ERR_UNAVAILABLE && code != ERR_DEADLINE)
            break;
        pause_us(e, AGAIN_US);
    }
    LIST_REMOVE(r, link);
    pool_job_unref(r->job);
    mem_free(r);
    finish(e);
    mutex_unlock(&p->lock);
    buf_close(&body);
}

void pool_peer_forget(struct pool_peer *e, struct pool_job *job)
{
    struct pool_ready *r = ready_of(e, job, false);
    job->forgotten = true;
    /* One that is coming looks again when it is there. */
    if (!r || r->state == READY_COMING)
        return;
    r->state = READY_COMING;
    begin(e, "worker-forget", run_forget, r);
}

/* --- orders ----------------------------------------------------------------
 */

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

/* May it be sent? If its job is not there yet, that is begun. */
static bool can_send(struct pool_peer *e, const struct pool_order *o)
{
    if (o->kind == WORKER_KILL)
        return true;
    pool_peer_prepare(e, o->job);
    return ready_of(e, o->job, true)->state == READY_YES;
}

/* Move what can be sent to @out, in its order. A kill that overtakes its start
 * would be lost: it stays behind it. */
static void
take_orders(struct pool_peer *e, struct pool_orders *out, struct buf *bytes)
{
    struct pool_orders kept = STAILQ_HEAD_INITIALIZER(kept);
    struct pool_order *o;
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

static void free_orders(struct pool_orders *orders)
{
    struct pool_order *o;
    while ((o = STAILQ_FIRST(orders)) != NULL) {
        STAILQ_REMOVE_HEAD(orders, link);
        free_order(o);
    }
}

/* They go first the next time. A worker that has lost a job gets it again. */
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
    const struct worker_head head = head_of(e, NULL);
    struct buf body = BUF_INIT;
    struct err err = ERR_INIT;
    int code;
    worker_head_put(&head, &body);
    mutex_unlock(&p->lock);
    code = peer_call(e, WORKER_ORDER, p->options.order_us, &body, bytes, NULL,
                     &err);
    mutex_lock(&p->lock);
    buf_close(&body);
    if (code == 0)
        return;
    judge(e, code, &err);
    put_back(e, orders, code == ERR_NOTFOUND);
    if (e->state != PEER_GONE)
        pause_us(e, AGAIN_US);
}

static void run_orders(void *arg)
{
    struct pool_peer *e = arg;
    struct worker_pool *p = e->pool;
    mutex_lock(&p->lock);
    while (e->state != PEER_GONE && fiber_check(NULL) == 0) {
        struct pool_orders orders = STAILQ_HEAD_INITIALIZER(orders);
        struct buf bytes = BUF_INIT;
        take_orders(e, &orders, &bytes);
        if (STAILQ_EMPTY(&orders))
            (void)cond_wait_us(&e->wake, &p->lock, p->world, AGAIN_US);
        else
            send_orders(e, &orders, buf_slice(&bytes));
        free_orders(&orders);
        buf_close(&bytes);
    }
    finish(e);
    mutex_unlock(&p->lock);
}

/* --- coming and going ------------------------------------------------------
 */

static char *copy(struct slice s)
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
    e->name = copy(e->record.name);
    worker_place_put(&e->record, &place);
    e->place = buf_take(&place);
    e->host = pool_machine(p, e->record.machine, true);
    e->heard_ns = world_mono_ns(p->world);
    LIST_INIT(&e->attempts);
    LIST_INIT(&e->readies);
    STAILQ_INIT(&e->orders);
    cond_init(&e->wake);
    address = copy(e->record.address);
    e->channel = rpc_channel_new(address, &channel);
    mem_free(address);
    begin(e, "worker-watch", run_watch, e);
    begin(e, "worker-orders", run_orders, e);
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
        drop(e, a);
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
    struct pool_ready *r;
    PRE(e->fibers == 0);
    PRE(e->channel == NULL);
    mutex_lock(&e->pool->lock);
    while ((r = LIST_FIRST(&e->readies)) != NULL) {
        LIST_REMOVE(r, link);
        pool_job_unref(r->job);
        mem_free(r);
    }
    free_orders(&e->orders);
    mutex_unlock(&e->pool->lock);
    cond_close(&e->wake);
    buf_close(&e->file);
    mem_free(e->name);
    mem_free(e->place);
    mem_free(e);
}

/* News of a worker of the pool: a fiber that calls it and waits for its answer,
 * again and again. A long call instead of a poll: an attempt's end arrives when
 * it happens. */
#include <stdio.h>

#include "base/core/coding.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"
#include "mapreduce/cluster/pool_state.h"

/* How long a worker with no news keeps a call. */
#define WATCH_US UINT64_C(500000)
/* An answer that takes longer counts as none. */
#define ANSWER_US UINT64_C(4000000)

static void hear_status(struct pool_peer *e, struct cursor *in)
{
    struct task_status s = {.stage = STATUS_IDLE};
    uint64_t ticket = cursor_varint(in);
    struct pool_attempt *a;
    worker_status_get(in, &s);
    if (in->bad)
        return;
    a = pool_peer_attempt(e, ticket);
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
    struct pool_attempt *a = pool_peer_attempt(e, ticket);
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
    pool_peer_drop(e, a);
}

static void pool_hear_reply(struct pool_peer *e, struct slice reply)
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
    pool_peer_judge(e, code, err);
    if (code == ERR_UNAVAILABLE && e->refused_ns == 0)
        e->refused_ns = now;
    if (e->state != PEER_GONE)
        pool_peer_pause(e, POOL_AGAIN_US);
}

void pool_hear_run(void *arg)
{
    struct pool_peer *e = arg;
    struct worker_pool *p = e->pool;
    mutex_lock(&p->lock);
    while (e->state != PEER_GONE && fiber_check(NULL) == 0) {
        struct worker_watch w = {pool_peer_head(e, NULL), e->seen,
                                 e->state == PEER_NEW ? 0 : WATCH_US};
        struct buf body = BUF_INIT;
        struct buf reply = BUF_INIT;
        struct err err = ERR_INIT;
        int rc;
        worker_watch_put(&w, &body);
        mutex_unlock(&p->lock);
        rc = pool_peer_call(e, WORKER_WATCH, ANSWER_US, &body, SLICE_EMPTY,
                            &reply, &err);
        mutex_lock(&p->lock);
        if (e->state != PEER_GONE && rc == 0) {
            take_in(e);
            pool_hear_reply(e, buf_slice(&reply));
        } else if (e->state != PEER_GONE) {
            not_heard(e, rc, &err);
        }
        buf_close(&body);
        buf_close(&reply);
    }
    pool_peer_finish(e);
    mutex_unlock(&p->lock);
}

/* The pool behind asynchronous calls, and the calls themselves. */
#include "bigtable/client/async.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/row/mutation.h"

struct async_pool {
    struct world *world;
    struct loop *loop; /* Borrowed: its fibers do the work. NULL: threads. */
    struct mutex lock;
    struct cond work; /* The queue is not empty, or it is over. */
    struct cond done; /* A call ended. */
    struct async_call *head;
    struct async_call *tail;
    unsigned in_flight;    /* Queued, running and calling back. */
    unsigned calling_back; /* Tasks that are in a callback. */
    unsigned idle;         /* Tasks that wait for work. */
    unsigned task_count;
    unsigned task_max;
    unsigned call_max;
    bool stop;
    struct task *tasks[ASYNC_TASKS_MAX]; /* Without a loop; with one: */
    struct fiber *fibers[ASYNC_TASKS_MAX];
    unsigned fiber_count; /* That were started. Of the loop. */
};

struct async_pool *async_pool_new(struct world *world,
                                  struct loop *loop,
                                  unsigned task_max,
                                  unsigned call_max)
{
    struct async_pool *p = mem_zalloc(1, sizeof(*p));
    p->world = world;
    p->loop = loop;
    p->task_max = loop ? ASYNC_FIBERS : ASYNC_TASKS;
    if (task_max)
        p->task_max = MIN_OF(task_max, ASYNC_TASKS_MAX);
    p->call_max = call_max ? call_max : ASYNC_CALLS;
    mutex_init(&p->lock);
    cond_init(&p->work);
    cond_init(&p->done);
    return p;
}

void async_pool_drain(struct async_pool *p)
{
    mutex_lock(&p->lock);
    while (p->in_flight > 0)
        cond_wait(&p->done, &p->lock);
    mutex_unlock(&p->lock);
}

/* Starts that were posted come first. */
static void join_fibers(void *arg)
{
    struct async_pool *p = arg;
    while (p->fiber_count < p->task_count)
        fiber_yield();
    for (unsigned i = 0; i < p->fiber_count; i++)
        fiber_join(p->fibers[i]);
}

void async_pool_free(struct async_pool *p)
{
    if (!p)
        return;
    async_pool_drain(p);
    mutex_lock(&p->lock);
    p->stop = true;
    cond_broadcast(&p->work);
    mutex_unlock(&p->lock);
    if (!p->loop)
        for (unsigned i = 0; i < p->task_count; i++)
            task_join(p->tasks[i]);
    else if (fiber_self() && loop_self() == p->loop)
        join_fibers(p);
    else
        loop_call(p->loop, "async close", join_fibers, p);
    cond_close(&p->work);
    cond_close(&p->done);
    mutex_close(&p->lock);
    mem_free(p);
}

/* PRE: the lock is held. */
static struct async_call *take_call(struct async_pool *p)
{
    struct async_call *call;
    while (!p->head && !p->stop) {
        p->idle++;
        cond_wait(&p->work, &p->lock);
        p->idle--;
    }
    call = p->head;
    if (call) {
        p->head = call->next;
        if (!p->head)
            p->tail = NULL;
    }
    return call;
}

static void serve(void *arg)
{
    struct async_pool *p = arg;
    struct async_call *call;
    mutex_lock(&p->lock);
    while ((call = take_call(p)) != NULL) {
        mutex_unlock(&p->lock);
        call->run(call);
        mutex_lock(&p->lock);
        if (++p->calling_back == p->task_count)
            cond_broadcast(&p->done); /* Let those through who wait inside. */
        mutex_unlock(&p->lock);
        call->finish(call);
        mutex_lock(&p->lock);
        p->calling_back--;
        p->in_flight--;
        cond_broadcast(&p->done);
    }
    mutex_unlock(&p->lock);
}

static void start_fiber(void *arg)
{
    struct async_pool *p = arg;
    p->fibers[p->fiber_count++] =
        fiber_start(p->loop, "quarry-async", serve, p);
}

/* PRE: the lock is held. */
static void start_task(struct async_pool *p)
{
    if (p->loop)
        loop_post(p->loop, start_fiber, p);
    else
        p->tasks[p->task_count] =
            task_start(p->world, "quarry-async", serve, p);
    p->task_count++;
}

void async_pool_submit(struct async_pool *p, struct async_call *call)
{
    call->next = NULL;
    mutex_lock(&p->lock);
    while (p->in_flight >= p->call_max && p->calling_back < p->task_count)
        cond_wait(&p->done, &p->lock);
    p->in_flight++;
    if (p->tail)
        p->tail->next = call;
    else
        p->head = call;
    p->tail = call;
    if (p->idle == 0 && p->task_count < p->task_max)
        start_task(p);
    cond_signal(&p->work);
    mutex_unlock(&p->lock);
}

/* The caller may close his table while the call is under way. */
static void hold_table(struct quarry_table *mine, const struct quarry_table *t)
{
    *mine = *t;
    mine->ops->table_hold(mine);
}

/* --- writes -------------------------------------------------------------- */

struct apply_call {
    struct async_call base;
    struct quarry_table table; /* Its own handle. */
    struct quarry_mutation mutation;
    struct quarry_write_options opts;
    int rc;
    struct err err;
    quarry_apply_cb cb;
    void *arg;
};

static void run_apply(struct async_call *base)
{
    struct apply_call *c = CONTAINER_OF(base, struct apply_call, base);
    const struct target_ops *ops = c->table.ops;
    c->rc = ops->apply(&c->table, &c->mutation, &c->opts, &c->err);
    ops->table_release(&c->table);
}

static void finish_apply(struct async_call *base)
{
    struct apply_call *c = CONTAINER_OF(base, struct apply_call, base);
    c->cb(c->arg, c->rc, &c->err);
    mutation_close(&c->mutation);
    mem_free(c);
}

void quarry_apply_async(struct quarry_table *t,
                        const struct quarry_mutation *m,
                        const struct quarry_write_options *opts,
                        quarry_apply_cb cb,
                        void *arg)
{
    struct apply_call *c = mem_zalloc(1, sizeof(*c));
    c->base.run = run_apply;
    c->base.finish = finish_apply;
    hold_table(&c->table, t);
    c->mutation.count = m->count;
    c->mutation.error = m->error;
    buf_append_slice(&c->mutation.row, buf_slice(&m->row));
    buf_append_slice(&c->mutation.ops, buf_slice(&m->ops));
    if (opts)
        c->opts = *opts;
    c->cb = cb;
    c->arg = arg;
    async_pool_submit(t->quarry->async, &c->base);
}

/* --- reads --------------------------------------------------------------- */

struct read_call {
    struct async_call base;
    struct quarry_table table; /* Its own handle. */
    struct buf row;
    struct any_read *read;
    int rc;
    struct quarry_row *found;
    struct err err;
    quarry_read_cb cb;
    void *arg;
};

static void run_read(struct async_call *base)
{
    struct read_call *c = CONTAINER_OF(base, struct read_call, base);
    const struct target_ops *ops = c->table.ops;
    c->rc = ops->read_run(c->read, buf_slice(&c->row), &c->found, &c->err);
    ops->read_free(c->read);
    ops->table_release(&c->table);
}

static void finish_read(struct async_call *base)
{
    struct read_call *c = CONTAINER_OF(base, struct read_call, base);
    c->cb(c->arg, c->rc, c->found, &c->err);
    buf_close(&c->row);
    mem_free(c);
}

void quarry_read_row_async(struct quarry_table *t,
                           struct slice row,
                           const struct quarry_read_options *opts,
                           quarry_read_cb cb,
                           void *arg)
{
    struct read_call *c = mem_zalloc(1, sizeof(*c));
    c->base.run = run_read;
    c->base.finish = finish_read;
    hold_table(&c->table, t);
    buf_append_slice(&c->row, row);
    c->read = t->ops->read_prepare(&c->table, opts);
    c->cb = cb;
    c->arg = arg;
    async_pool_submit(t->quarry->async, &c->base);
}

/* Fibers that end with their server. A task lives on the stack of its fiber, or
 * of the fiber that waits for it, and is linked in the list of those that run.
 */
#include "bigtable/tablet_server/loop_task.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

struct loop_task {
    LIST_ENTRY(loop_task) link;
    struct loop_tasks *all;
    struct fiber *fiber;
    void (*fn)(void *);
    void *arg;
};

void loop_tasks_init(struct loop_tasks *e, struct loop *loop)
{
    e->loop = loop;
    e->ended = false;
    LIST_INIT(&e->running);
}

static void loop_task_main(void *arg)
{
    struct loop_task *x = arg;
    x->fiber = fiber_self();
    PRE(x->fiber);
    PRE(x->fn);
    LIST_INSERT_HEAD(&x->all->running, x, link);
    x->fn(x->arg);
    LIST_REMOVE(x, link);
}

static void run_in_time(void *arg)
{
    struct loop_task *x = arg;
    PRE(fiber_self());
    if (x->all->ended)
        fiber_cancel(fiber_self());
    loop_task_main(x);
}

void loop_task_run(struct loop_tasks *e, void (*fn)(void *), void *arg)
{
    struct loop_task x = {.all = e, .fn = fn, .arg = arg};
    PRE(loop_self() == e->loop);
    fiber_join(fiber_start(e->loop, "tablet-order", run_in_time, &x));
}

void loop_task_call(struct loop_tasks *e, void (*fn)(void *), void *arg)
{
    struct loop_task x = {.all = e, .fn = fn, .arg = arg};

    PRE(fn);
    /* A caller on the loop after the end has its own deadline. */
    if (loop_self() == e->loop)
        loop_task_main(&x);
    else
        loop_call(e->loop, "tablet-visit", run_in_time, &x);
}

void loop_task_run_here(struct loop_tasks *e, void (*fn)(void *), void *arg)
{
    struct loop_task x = {.all = e, .fn = fn, .arg = arg};
    run_in_time(&x);
}

void loop_tasks_end(struct loop_tasks *e)
{
    struct loop_task *x;
    PRE(loop_self() == e->loop);
    e->ended = true;
    LIST_FOREACH(x, &e->running, link)
        fiber_cancel(x->fiber);
}

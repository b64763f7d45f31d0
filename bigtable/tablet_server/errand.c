/* Fibers that end with their server. See errand.h. */
#include "bigtable/tablet_server/errand.h"

#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

struct errand {
    LIST_ENTRY(errand) link;
    struct errands *all;
    struct fiber *fiber;
    void (*fn)(void *);
    void *arg;
};

void errands_init(struct errands *e, struct loop *loop)
{
    e->loop = loop;
    e->ended = false;
    LIST_INIT(&e->running);
}

static void run(void *arg)
{
    struct errand *x = arg;
    x->fiber = fiber_self();
    LIST_INSERT_HEAD(&x->all->running, x, link);
    x->fn(x->arg);
    LIST_REMOVE(x, link);
}

static void run_in_time(void *arg)
{
    struct errand *x = arg;
    if (x->all->ended)
        fiber_cancel(fiber_self());
    run(x);
}

void errand_run(struct errands *e, void (*fn)(void *), void *arg)
{
    struct errand x = {.all = e, .fn = fn, .arg = arg};
    fiber_join(fiber_start(e->loop, "tablet-order", run_in_time, &x));
}

void errand_visit(struct errands *e, void (*fn)(void *), void *arg)
{
    struct errand x = {.all = e, .fn = fn, .arg = arg};
    if (loop_self() == e->loop)
        run(&x); /* Whoever comes late has its own reason, and time. */
    else
        loop_call(e->loop, "tablet-visit", run_in_time, &x);
}

void errand_do(struct errands *e, void (*fn)(void *), void *arg)
{
    struct errand x = {.all = e, .fn = fn, .arg = arg};
    run_in_time(&x);
}

void errands_end(struct errands *e)
{
    struct errand *x;
    e->ended = true;
    LIST_FOREACH(x, &e->running, link)
    fiber_cancel(x->fiber);
}

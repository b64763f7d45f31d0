/* The part that loops of all worlds share: the queue of posts, calls from
 * other threads, and the end. The queue is a lock-free stack that its loop
 * takes whole and reverses, so that posting is one compare-and-swap and
 * posts run in order. */
#include "base/runtime/loop.h"

#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/waiter.h"
#include "base/runtime/world_ops.h"

void loop__init(struct loop *l,
                const struct loop_ops *ops,
                struct world *w,
                const char *name)
{
    *l = (struct loop){.ops = ops, .world = w, .home = l};
    atomic_init(&l->posts, NULL);
    atomic_init(&l->holders, 0);
    atomic_init(&l->stop_asked, false);
    snprintf(l->name, sizeof(l->name), "%.*s", LOOP_NAME_BYTES - 1, name);
}

static void free_fibers(struct fiber *list)
{
    for (struct fiber *f = list, *next; f; f = next) {
        next = f->next_free;
        if (f->stack)
            fiber_stack_unmap(f->stack);
        mem_free(f);
    }
}

void loop__close(struct loop *l)
{
    PRE(l->live_count == 0);
    /* The thread that woke the last fiber may still be inside loop_unhold(). */
    while (atomic_load(&l->holders))
        cpu_relax();
    loop__drain_posts(l);
    free_fibers(l->pool);
    free_fibers(l->bare);
    mem_free(l->timers);
}

void loop_hold(struct loop *l)
{
    atomic_fetch_add(&l->holders, 1);
}

void loop_unhold(struct loop *l)
{
    atomic_fetch_sub(&l->holders, 1);
}

/* --- posts --------------------------------------------------------------- */

/* The loop takes the stack whole, never a single node, so that there is no
 * ABA problem. */
void loop__push(struct loop *l, struct loop_post *post)
{
    struct loop_post *old = atomic_load(&l->posts);
    loop_hold(l);
    do {
        post->next = old;
    } while (!atomic_compare_exchange_weak(&l->posts, &old, post));
    if (!old) /* Else an earlier post has woken it. */
        l->ops->wakeup(l);
    loop_unhold(l);
}

static struct loop_post *take_posts(struct loop *l)
{
    struct loop_post *newest;
    struct loop_post *oldest = NULL;
    if (!atomic_load(&l->posts))
        return NULL;
    newest = atomic_exchange(&l->posts, NULL);
    while (newest) {
        struct loop_post *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

bool loop__drain_posts(struct loop *l)
{
    struct loop_post *p = take_posts(l);
    bool any = p != NULL;
    while (p) {
        struct loop_post *next = p->next;
        if (p->fn) {
            p->fn(p->arg);
            mem_free(p);
        } else {
            /* From here on the node may be posted again. */
            struct fiber *f = p->fiber;
            atomic_store(&f->posted, false);
            fiber__wake_here(f);
        }
        p = next;
    }
    return any;
}

void loop_post(struct loop *l, loop_fn fn, void *arg)
{
    struct loop_post *p = mem_zalloc(1, sizeof(*p));
    PRE(fn);
    p->fn = fn;
    p->arg = arg;
    loop__push(l, p);
}

/* --- calls --------------------------------------------------------------- */

/* On the caller's stack, until it is woken. */
struct call {
    struct loop *loop;
    const char *name;
    loop_fn fn;
    void *arg;
    void *context; /* The caller's: fiber_context(). */
    struct sync_waiter caller;
};

static void run_call(void *arg)
{
    struct call *c = arg;
    (void)fiber_set_context(c->context);
    c->fn(c->arg);
    (void)fiber_set_context(NULL);
    waiter_wake(&c->caller);
}

static void start_call(void *arg)
{
    struct call *c = arg;
    fiber_detach(fiber_start(c->loop, c->name, run_call, c));
}

void loop_call(struct loop *l, const char *name, loop_fn fn, void *arg)
{
    struct call c = {.loop = l,
                     .name = name,
                     .fn = fn,
                     .arg = arg,
                     .context = fiber_context()};
    waiter_init(&c.caller);
    loop_post(l, start_call, &c);
    waiter_wait(&c.caller);
}

/* Work of a fiber that has a context, and waits. */
struct offloaded {
    loop_fn fn;
    void *arg;
    void *context;
};

static void run_offloaded(void *arg)
{
    struct offloaded *o = arg;
    void *outer = fiber_set_context(o->context);
    o->fn(o->arg);
    (void)fiber_set_context(outer);
}

void offload(loop_fn fn, void *arg)
{
    struct fiber *f = fiber_self();
    struct offloaded o = {.fn = fn, .arg = arg, .context = fiber_context()};
    if (f && o.context)
        f->loop->ops->offload(f->loop, run_offloaded, &o);
    else if (f)
        f->loop->ops->offload(f->loop, fn, arg);
    else
        fn(arg);
}

/* --- start and end ------------------------------------------------------- */

int loop_new(struct world *w,
             const char *name,
             struct loop **out,
             struct err *err)
{
    *out = NULL;
    return w->ops->loop_new(w, name, out, err);
}

void loop_free(struct loop *l)
{
    if (l)
        l->ops->free(l);
}

void loop_start(struct loop *l)
{
    l->ops->start(l);
}

void loop_join(struct loop *l)
{
    l->ops->join(l);
}

void loop_stop(struct loop *l)
{
    loop_hold(l);
    atomic_store(&l->stop_asked, true);
    l->ops->wakeup(l);
    loop_unhold(l);
}

void loop__cancel_fibers(struct loop *l)
{
    l->stopping = true;
    for (struct fiber *f = l->live; f; f = f->next_live) {
        atomic_store(&f->cancelled, true);
        fiber__wake_here(f);
    }
}

struct world *loop_world(const struct loop *l)
{
    return l->world;
}

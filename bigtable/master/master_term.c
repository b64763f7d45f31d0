/* Fibers of a term, and its end. The list of fibers holds each from its start
 * until its function has returned; ending the term cancels all of them. */
#include "bigtable/master/master_term.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

struct task_entry {
    struct master_term *term;
    struct fiber *fiber;
    master_term_fn fn;
    void *arg;
    struct task_entry *next;
    struct task_entry **link; /* The pointer that points to it. */
};

static void run_task(void *arg)
{
    struct task_entry *e = arg;
    struct master_term *r = e->term;

    PRE(e->fn);
    e->fn(r, e->arg);
    INVARIANT(*e->link == e);
    *e->link = e->next;
    if (e->next)
        e->next->link = e->link;
    fiber_detach(e->fiber);
    mem_free(e);
    master_term_changed(r);
}

void master_term_spawn(struct master_term *r,
                       const char *name,
                       master_term_fn fn,
                       void *arg)
{
    struct task_entry *e = mem_zalloc(1, sizeof(*e));
    PRE(fn);
    PRE(loop_self());
    e->term = r;
    e->fn = fn;
    e->arg = arg;
    e->next = r->tasks;
    e->link = &r->tasks;
    if (e->next)
        e->next->link = &e->next;
    r->tasks = e;
    e->fiber = fiber_start(loop_self(), name, run_task, e);
    if (r->ending)
        fiber_cancel(e->fiber);
}

bool master_term_is_current(const struct master_term *r)
{
    return !r->ending && fiber_check(NULL) == 0;
}

bool master_term_wait(struct master_term *r, uint64_t us)
{
    mutex_lock(&r->mutex);
    if (master_term_is_current(r))
        (void)cond_wait_us(&r->changed, &r->mutex, r->world,
                           world_to_tick_us(r->world, us));
    mutex_unlock(&r->mutex);
    return master_term_is_current(r);
}

void master_term_changed(struct master_term *r)
{
    cond_broadcast(&r->changed);
}

void master_term_end(struct master_term *r,
                     const char *why,
                     const struct err *err)
{
    PRE(why);
    if (r->ending)
        return;
    r->ending = true; /* INV-3 */
    log_info(r->world, "master", "term of master %llu ends: %s%s%s",
             (unsigned long long)r->number, why, err ? ": " : "",
             err ? err->text : "");
    for (struct task_entry *e = r->tasks; e; e = e->next)
        fiber_cancel(e->fiber);
    for (size_t i = 0; i < r->view.server_count; i++)
        cond_broadcast(&r->view.servers[i]->wake);
    master_term_changed(r);
}

uint64_t master_term_now_ns(const struct master_term *r)
{
    return world_mono_ns(r->world);
}

int master_term_over(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "this is not the master any more");
}

/* Fibers of a reign, and its end. */
#include "bigtable/master/reign.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"

struct task_entry {
    struct reign *reign;
    struct fiber *fiber;
    reign_fn fn;
    void *arg;
    struct task_entry *next;
    struct task_entry **link; /* What points to it. */
};

static void run_task(void *arg)
{
    struct task_entry *e = arg;
    struct reign *r = e->reign;
    e->fn(r, e->arg);
    *e->link = e->next;
    if (e->next)
        e->next->link = e->link;
    fiber_detach(e->fiber);
    mem_free(e);
    reign_changed(r);
}

void reign_spawn(struct reign *r, const char *name, reign_fn fn, void *arg)
{
    struct task_entry *e = mem_zalloc(1, sizeof(*e));
    e->reign = r;
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

bool reign_goes_on(const struct reign *r)
{
    return !r->ending && fiber_check(NULL) == 0;
}

bool reign_wait(struct reign *r, uint64_t us)
{
    mutex_lock(&r->mutex);
    if (reign_goes_on(r))
        (void)cond_wait_us(&r->changed, &r->mutex, r->world, us);
    mutex_unlock(&r->mutex);
    return reign_goes_on(r);
}

void reign_changed(struct reign *r)
{
    cond_broadcast(&r->changed);
}

void reign_end(struct reign *r, const char *why, const struct err *err)
{
    if (r->ending)
        return;
    r->ending = true;
    log_info(r->world, "master", "reign of master %llu ends: %s%s%s",
             (unsigned long long)r->number, why, err ? ": " : "",
             err ? err->text : "");
    for (struct task_entry *e = r->tasks; e; e = e->next)
        fiber_cancel(e->fiber);
    for (size_t i = 0; i < r->picture.server_count; i++)
        cond_broadcast(&r->picture.servers[i]->wake);
    reign_changed(r);
}

uint64_t reign_now_ns(const struct reign *r)
{
    return world_mono_ns(r->world);
}

int reign_over(struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "this is not the master any more");
}

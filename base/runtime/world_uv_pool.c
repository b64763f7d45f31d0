/* Threads for work that would block a loop: disk calls that sleep, and long
 * computations. Started one by one as work piles up; uv's own pool is left
 * to uv. */
#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/waiter.h"
#include "base/runtime/world_uv.h"

/* Enough to keep a disk's queue filled; more only take turns on the CPUs. */
#define POOL_THREADS_MAX 8

/* On the stack of the fiber that waits for it. */
struct job {
    struct job *next;
    loop_fn fn;
    void *arg;
    struct sync_waiter waiter;
};

struct offload_pool {
    struct world *world; /* Borrowed. */
    struct mutex mutex;  /* Guards all below. */
    struct cond changed; /* A job came, or stopping. */
    struct job *first;   /* Oldest. */
    struct job **last;
    size_t waiting_count; /* Jobs on the list. */
    size_t idle_count;    /* Threads that wait. */
    struct task *threads[POOL_THREADS_MAX];
    size_t thread_count;
    bool stopping;
};

/* PRE: the mutex is held. NULL when there is none. */
static struct job *world_uv_pool_take(struct offload_pool *p)
{
    struct job *j = p->first;
    if (j) {
        p->first = j->next;
        if (!p->first)
            p->last = &p->first;
        INVARIANT(p->waiting_count > 0);
        p->waiting_count--;
    }
    return j;
}

static void run_thread(void *arg)
{
    struct offload_pool *p = arg;
    struct job *j;
    mutex_lock(&p->mutex);
    for (;;) {
        while (!(j = world_uv_pool_take(p)) && !p->stopping) {
            p->idle_count++;
            cond_wait(&p->changed, &p->mutex);
            p->idle_count--;
        }
        if (!j)
            break;
        mutex_unlock(&p->mutex);
        j->fn(j->arg);
        waiter_wake(&j->waiter);
        mutex_lock(&p->mutex);
    }
    mutex_unlock(&p->mutex);
}

struct offload_pool *offload_pool_new(struct world *w)
{
    struct offload_pool *p = mem_zalloc(1, sizeof(*p));
    p->world = w;
    p->last = &p->first;
    mutex_init(&p->mutex);
    cond_init(&p->changed);
    return p;
}

void offload_pool_free(struct offload_pool *p)
{
    mutex_lock(&p->mutex);
    PRE(!p->first && p->waiting_count == 0);
    p->stopping = true;
    cond_broadcast(&p->changed);
    mutex_unlock(&p->mutex);
    for (size_t i = 0; i < p->thread_count; i++)
        task_join(p->threads[i]);
    cond_close(&p->changed);
    mutex_close(&p->mutex);
    mem_free(p);
}

void offload_pool_run(struct offload_pool *p, loop_fn fn, void *arg)
{
    struct job j = {.fn = fn, .arg = arg};
    waiter_init(&j.waiter);
    mutex_lock(&p->mutex);
    *p->last = &j;
    p->last = &j.next;
    p->waiting_count++;
    if (p->waiting_count > p->idle_count && p->thread_count < POOL_THREADS_MAX)
        p->threads[p->thread_count++] =
            task_start(p->world, "offload", run_thread, p);
    cond_signal(&p->changed);
    mutex_unlock(&p->mutex);
    waiter_wait(&j.waiter);
}

/* A pool of threads for work that blocks. A fiber that hands work over parks
 * until it is done; threads are started when all are busy.
 */
#include "bigtable/gateway/workers.h"

#include <stdbool.h>
#include <stddef.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

/* On the stack of the fiber that waits for it. */
struct piece {
    struct piece *next;
    void (*fn)(void *arg);
    void *arg;
    struct cond ended;
    bool done;
};

struct workers {
    struct world *world; /* Borrowed. */
    struct mutex mutex;  /* Guards all below. */
    struct cond changed; /* A piece came, or stopping. */
    struct piece *first; /* Oldest. */
    struct piece **last;
    size_t waiting_count; /* Pieces on the list. */
    size_t idle_count;    /* Threads that wait. */
    struct task **threads;
    size_t thread_count;
    size_t thread_max;
    bool stopping;
};

struct workers *workers_new(struct world *w, unsigned max)
{
    struct workers *p = mem_zalloc(1, sizeof(*p));
    PRE(max > 0);
    p->world = w;
    p->last = &p->first;
    p->thread_max = max;
    p->threads = mem_zalloc(max, sizeof(struct task *));
    mutex_init(&p->mutex);
    cond_init(&p->changed);
    return p;
}

void workers_free(struct workers *p)
{
    if (!p)
        return;
    mutex_lock(&p->mutex);
    PRE(!p->first);
    p->stopping = true;
    cond_broadcast(&p->changed);
    mutex_unlock(&p->mutex);
    for (size_t i = 0; i < p->thread_count; i++)
        task_join(p->threads[i]);
    cond_close(&p->changed);
    mutex_close(&p->mutex);
    mem_free(p->threads);
    mem_free(p);
}

/* PRE: the mutex is held. NULL when there is none. */
static struct piece *workers_take(struct workers *p)
{
    struct piece *w = p->first;
    if (!w)
        return NULL;
    INVARIANT(p->waiting_count > 0);
    p->first = w->next;
    if (!p->first)
        p->last = &p->first;
    p->waiting_count--;
    return w;
}

static void run_thread(void *arg)
{
    struct workers *p = arg;
    mutex_lock(&p->mutex);
    for (;;) {
        struct piece *w = workers_take(p);
        if (!w && p->stopping)
            break;
        if (!w) {
            p->idle_count++;
            INVARIANT(p->idle_count <= p->thread_count);
            cond_wait(&p->changed, &p->mutex);
            p->idle_count--;
            continue;
        }
        mutex_unlock(&p->mutex);
        w->fn(w->arg);
        mutex_lock(&p->mutex);
        w->done = true;
        cond_signal(&w->ended); /* It goes once it has the mutex. */
    }
    mutex_unlock(&p->mutex);
}

void workers_run(struct workers *p, void (*fn)(void *arg), void *arg)
{
    PRE(fn);

    struct piece w = {.fn = fn, .arg = arg};
    cond_init(&w.ended);
    mutex_lock(&p->mutex);
    *p->last = &w;
    p->last = &w.next;
    p->waiting_count++;
    if (p->waiting_count > p->idle_count && p->thread_count < p->thread_max)
        p->threads[p->thread_count++] =
            task_start(p->world, "gateway", run_thread, p);
    cond_signal(&p->changed);
    while (!w.done)
        cond_wait(&w.ended, &p->mutex);
    mutex_unlock(&p->mutex);
    cond_close(&w.ended);
}

/* A pool of threads for work that blocks. A fiber that hands work over parks
 * until it is done; threads are started when all are busy.
 */
#include "bigtable/gateway/workers.h"

#include <stddef.h>

#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

struct workers {
    struct world *world;         /* Borrowed. */
    struct mutex mutex;          /* Guards all below. */
    struct cond changed;         /* A piece came, or stopping. */
    struct workers_piece *first; /* Oldest. */
    struct workers_piece **last;
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
static struct workers_piece *workers_take(struct workers *p)
{
    struct workers_piece *w = p->first;
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
        struct workers_piece *w = workers_take(p);
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

/* PRE: the mutex is held. */
static void workers_put(struct workers *p, struct workers_piece *w)
{
    PRE(w->fn && !w->done);
    cond_init(&w->ended);
    *p->last = w;
    p->last = &w->next;
    p->waiting_count++;
    if (p->waiting_count > p->idle_count && p->thread_count < p->thread_max)
        p->threads[p->thread_count++] =
            task_start(p->world, "gateway", run_thread, p);
    cond_signal(&p->changed);
}

void workers_run(struct workers *p, void (*fn)(void *arg), void *arg)
{
    struct workers_piece w = {.fn = fn, .arg = arg};
    mutex_lock(&p->mutex);
    workers_put(p, &w);
    while (!w.done)
        cond_wait(&w.ended, &p->mutex);
    mutex_unlock(&p->mutex);
    cond_close(&w.ended);
}

void workers_begin(struct workers *p, struct workers_piece *w)
{
    mutex_lock(&p->mutex);
    workers_put(p, w);
    mutex_unlock(&p->mutex);
}

bool workers_await(struct workers *p, struct workers_piece *w, uint64_t us)
{
    bool done;
    mutex_lock(&p->mutex);
    if (!w->done)
        (void)cond_wait_us(&w->ended, &p->mutex, p->world, us);
    done = w->done;
    mutex_unlock(&p->mutex);
    if (done)
        cond_close(&w->ended);
    return done;
}

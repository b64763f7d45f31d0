/* A queue of jobs and the threads that take them. A job lives on the stack of
 * the fiber or thread that waits for it. */
#include "bigtable/tablet_server/reader_pool.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "base/trace/span.h"

struct pool_job {
    struct pool_job *next;
    void (*fn)(void *);
    void *arg;
    void *context; /* The caller's: base/runtime/fiber.h. */
    uint64_t queued_ns;
    bool done;
    struct cond finished;
};

struct reader_pool {
    struct world *world;
    struct mutex lock;
    struct cond work;
    struct pool_job *head;
    struct pool_job **tail;
    struct task **tasks;
    size_t count;
    size_t idle;
    size_t max;
    bool stop;
};

static void reader_pool_run_job(struct pool_job *j)
{
    PRE(j->fn);
    PRE(!j->done);
    (void)fiber_set_context(j->context);
    if (j->context)
        span_note("reader queue", j->queued_ns, 0);
    j->fn(j->arg);
    (void)fiber_set_context(NULL);
}

static void reader_pool_work(void *arg)
{
    struct reader_pool *p = arg;
    mutex_lock(&p->lock);
    for (;;) {
        struct pool_job *j;
        p->idle++;
        while (!p->head && !p->stop)
            cond_wait(&p->work, &p->lock);
        INVARIANT(p->idle > 0);
        INVARIANT(p->idle <= p->count); /* INV-1 */
        p->idle--;
        j = p->head;
        if (!j)
            break;
        p->head = j->next;
        if (!p->head)
            p->tail = &p->head;
        mutex_unlock(&p->lock);
        reader_pool_run_job(j);
        mutex_lock(&p->lock);
        INVARIANT(!j->done);
        j->done = true;
        cond_signal(&j->finished);
    }
    mutex_unlock(&p->lock);
}

struct reader_pool *reader_pool_new(struct world *w, size_t max)
{
    struct reader_pool *p = mem_zalloc(1, sizeof(*p));
    PRE(max > 0);
    p->world = w;
    p->max = max;
    p->tasks = mem_zalloc(max, sizeof(struct task *));
    p->tail = &p->head;
    mutex_init(&p->lock);
    cond_init(&p->work);
    return p;
}

void reader_pool_free(struct reader_pool *p)
{
    if (!p)
        return;
    mutex_lock(&p->lock);
    PRE(!p->head); /* Nobody waits any more. */
    p->stop = true;
    cond_broadcast(&p->work);
    mutex_unlock(&p->lock);
    INVARIANT(p->count <= p->max); /* INV-1 */
    for (size_t i = 0; i < p->count; i++)
        task_join(p->tasks[i]);
    cond_close(&p->work);
    mutex_close(&p->lock);
    mem_free(p->tasks);
    mem_free(p);
}

void reader_pool_run(struct reader_pool *p, void (*fn)(void *), void *arg)
{
    struct pool_job j = {.fn = fn, .arg = arg, .context = fiber_context()};
    if (j.context)
        j.queued_ns = world_mono_ns(p->world);
    cond_init(&j.finished);
    mutex_lock(&p->lock);
    PRE(!p->stop);
    INVARIANT((p->head == NULL) == (p->tail == &p->head)); /* INV-2 */
    if (p->idle == 0 && p->count < p->max) {
        p->tasks[p->count] =
            task_start(p->world, "quarry-read", reader_pool_work, p);
        p->count++;
    }
    *p->tail = &j;
    p->tail = &j.next;
    cond_signal(&p->work);
    while (!j.done)
        cond_wait(&j.finished, &p->lock);
    mutex_unlock(&p->lock);
    cond_close(&j.finished);
}

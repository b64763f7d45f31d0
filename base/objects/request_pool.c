/* The threads are started one by one as requests pile up; those that wait
 * before a retry wait on the same condition as those without work, so that
 * closing and hurrying reach both.
 */
#include "base/objects/request_pool.h"

#include "base/core/panic.h"
#include "base/objects/object_request.h"
#include "base/runtime/world.h"

#define DELAY_US_FIRST UINT64_C(100000)
#define DELAY_US_MAX   UINT64_C(20000000)

/* A connection shows that the libraries are there; it is not made yet. */
static int check_library(struct err *err)
{
    struct object_connection *c;
    int rc = object_connection_open(&c, err);
    if (rc == 0)
        object_connection_close(c);
    return rc;
}

int request_pool_open(struct request_pool *p,
                      struct world *w,
                      unsigned connections,
                      unsigned attempts,
                      struct err *err)
{
    int rc = check_library(err);
    if (rc)
        return rc;
    PRE(connections > 0 && connections <= OBJECT_CONNECTIONS_MAX);
    *p = (struct request_pool){.world = w,
                               .connections = connections,
                               .attempts = attempts,
                               .budget = RETRY_BUDGET};
    p->last = &p->first;
    mutex_init(&p->mutex);
    cond_init(&p->changed);
    return 0;
}

void request_pool_close(struct request_pool *p)
{
    mutex_lock(&p->mutex);
    PRE(!p->first);
    p->stopping = true;
    cond_broadcast(&p->changed);
    mutex_unlock(&p->mutex);
    for (size_t i = 0; i < p->thread_count; i++)
        task_join(p->threads[i]);
    cond_close(&p->changed);
    mutex_close(&p->mutex);
}

void request_pool_wake(struct request_pool *p)
{
    mutex_lock(&p->mutex);
    cond_broadcast(&p->changed);
    mutex_unlock(&p->mutex);
}

void request_pool_hurry(struct request_pool *p)
{
    atomic_store(&p->hurried, true);
    request_pool_wake(p);
}

/* --- threads ------------------------------------------------------------- */

/* PRE: the mutex is held. */
static struct request_job *take_job(struct request_pool *p)
{
    struct request_job *j = p->first;
    if (j) {
        p->first = j->next;
        if (!p->first)
            p->last = &p->first;
        INVARIANT(p->waiting > 0); /* INV-1 */
        p->waiting--;
    }
    return j;
}

static void run_jobs(void *arg)
{
    struct request_pool *p = arg;
    struct object_connection *connection = NULL;
    /* It was opened once, when the pool was: what fails now is memory. */
    if (object_connection_open(&connection, NULL))
        PANIC("libcurl has no memory for a connection");
    mutex_lock(&p->mutex);
    for (;;) {
        struct request_job *j;
        while (!(j = take_job(p)) && !p->stopping) {
            p->idle++;
            cond_wait(&p->changed, &p->mutex);
            p->idle--;
        }
        if (!j)
            break;
        mutex_unlock(&p->mutex);
        j->run(connection, j->arg);
        mutex_lock(&p->mutex);
    }
    mutex_unlock(&p->mutex);
    object_connection_close(connection);
}

void request_pool_start(struct request_pool *p, struct request_job *j)
{
    j->next = NULL;
    mutex_lock(&p->mutex);
    PRE(!p->stopping);
    *p->last = j;
    p->last = &j->next;
    p->waiting++;
    if (p->waiting > p->idle && p->thread_count < p->connections)
        p->threads[p->thread_count++] =
            task_start(p->world, "objects", run_jobs, p);
    INVARIANT(p->thread_count <= p->connections); /* INV-2 */
    /* Those that wait before a retry wait for it, too. */
    cond_broadcast(&p->changed);
    mutex_unlock(&p->mutex);
}

/* --- work that is waited for --------------------------------------------- */

struct waiting_job {
    struct request_job job;
    void (*run)(struct object_connection *c, void *arg);
    void *arg;
    bool done;
    struct mutex mutex;
    struct cond ended;
};

static void run_waiting(struct object_connection *connection, void *arg)
{
    struct waiting_job *w = arg;
    w->run(connection, w->arg);
    mutex_lock(&w->mutex);
    w->done = true;
    cond_signal(&w->ended);
    mutex_unlock(&w->mutex);
}

void request_pool_run(struct request_pool *p,
                      void (*run)(struct object_connection *c, void *arg),
                      void *arg)
{
    struct waiting_job w = {.run = run, .arg = arg};
    w.job.run = run_waiting;
    w.job.arg = &w;
    mutex_init(&w.mutex);
    cond_init(&w.ended);
    request_pool_start(p, &w.job);
    mutex_lock(&w.mutex);
    while (!w.done)
        cond_wait(&w.ended, &w.mutex);
    mutex_unlock(&w.mutex);
    cond_close(&w.ended);
    mutex_close(&w.mutex);
}

/* --- retries ------------------------------------------------------------- */

static bool is_given_up(struct request_pool *p, const atomic_bool *stop)
{
    return atomic_load(&p->hurried) || (stop && atomic_load(stop));
}

bool request_pool_may_retry(struct request_pool *p,
                            unsigned tries,
                            uint64_t least_us,
                            const atomic_bool *stop)
{
    uint64_t most = MIN_OF(DELAY_US_FIRST << MIN_OF(tries, 10u), DELAY_US_MAX);
    uint64_t delay = most / 4 + world_random(p->world) % (most * 3 / 4 + 1);
    uint64_t end;
    bool may = tries < p->attempts && !is_given_up(p, stop);
    if (!may)
        return false;
    delay = MAX_OF(delay, least_us);
    end = world_mono_ns(p->world) + delay * 1000;
    mutex_lock(&p->mutex);
    may = p->budget >= RETRY_COST;
    if (may)
        p->budget -= RETRY_COST;
    while (may && !is_given_up(p, stop)) {
        uint64_t now = world_mono_ns(p->world);
        if (now >= end)
            break;
        (void)cond_wait_us(&p->changed, &p->mutex, p->world,
                           (end - now) / 1000 + 1);
    }
    mutex_unlock(&p->mutex);
    if (may)
        atomic_fetch_add(&p->retries, 1);
    return may && !is_given_up(p, stop);
}

void request_pool_earn(struct request_pool *p)
{
    mutex_lock(&p->mutex);
    p->budget = MIN_OF(p->budget + 1, RETRY_BUDGET);
    mutex_unlock(&p->mutex);
}

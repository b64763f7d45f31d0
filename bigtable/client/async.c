/* The pool behind asynchronous calls: one queue, a lock, and tasks that take
 * calls from it, alone or several that go together. Tasks are threads for a
 * directory, where a call blocks, and fibers of the client's loop for a
 * cluster.
 */
#include "bigtable/client/async.h"

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"

/* Groups of calls that travel together, in flight at once: while one is on its
 * way, another is served, and a third answered. */
#define CROWDS 4
/* Queued calls examined to find those that can join a group. */
#define LOOKS_MAX ((size_t)4 * ASYNC_TOGETHER_MAX)

struct async_pool {
    struct world *world;
    struct loop *loop; /* Borrowed: its fibers do the work. NULL: threads. */
    struct mutex lock;
    struct cond work; /* The queue is not empty, or it is over. */
    struct cond done; /* A call ended. */
    struct async_call *head;
    struct async_call *tail;
    size_t queued;
    unsigned in_flight;    /* Queued, running and calling back. */
    unsigned gathering;    /* Fibers that let others queue more. */
    unsigned calling_back; /* Tasks that are in a callback, */
    const void *inside[ASYNC_TASKS_MAX]; /* and who they are. */
    unsigned idle;                       /* Tasks that wait for work. */
    unsigned woken; /* Of those, and of new ones: about to look. */
    unsigned task_count;
    unsigned task_max;
    unsigned call_max;
    bool stop;
    struct task *tasks[ASYNC_TASKS_MAX]; /* Without a loop; with one: */
    struct fiber *fibers[ASYNC_TASKS_MAX];
    unsigned fiber_count; /* That were started. Of the loop. */
};

struct async_pool *async_pool_new(struct world *world,
                                  struct loop *loop,
                                  unsigned task_max,
                                  unsigned call_max)
{
    struct async_pool *p = mem_zalloc(1, sizeof(*p));
    p->world = world;
    p->loop = loop;
    p->task_max = loop ? ASYNC_FIBERS : ASYNC_TASKS;
    if (task_max)
        p->task_max = MIN_OF(task_max, ASYNC_TASKS_MAX);
    p->call_max = call_max ? call_max : ASYNC_CALLS;
    mutex_init(&p->lock);
    cond_init(&p->work);
    cond_init(&p->done);
    POST(p->task_max > 0 && p->task_max <= ASYNC_TASKS_MAX);
    return p;
}

void async_pool_drain(struct async_pool *p)
{
    mutex_lock(&p->lock);
    while (p->in_flight > 0)
        cond_wait(&p->done, &p->lock);
    POST(p->queued == 0);
    mutex_unlock(&p->lock);
}

/* Starts that were posted come first. */
static void join_fibers(void *arg)
{
    struct async_pool *p = arg;
    while (p->fiber_count < p->task_count)
        fiber_yield();
    for (unsigned i = 0; i < p->fiber_count; i++)
        fiber_join(p->fibers[i]);
}

void async_pool_free(struct async_pool *p)
{
    if (!p)
        return;
    async_pool_drain(p);
    mutex_lock(&p->lock);
    p->stop = true;
    cond_broadcast(&p->work);
    mutex_unlock(&p->lock);
    if (!p->loop)
        for (unsigned i = 0; i < p->task_count; i++)
            task_join(p->tasks[i]);
    else if (fiber_self() && loop_self() == p->loop)
        join_fibers(p);
    else
        loop_call(p->loop, "async close", join_fibers, p);
    cond_close(&p->work);
    cond_close(&p->done);
    mutex_close(&p->lock);
    mem_free(p);
}

static void async_serve(void *arg);

static void start_fiber(void *arg)
{
    struct async_pool *p = arg;
    p->fibers[p->fiber_count++] =
        fiber_start(p->loop, "quarry-async", async_serve, p);
}

/* PRE: the lock is held. */
static void start_task(struct async_pool *p)
{
    PRE(p->task_count < p->task_max);
    if (p->loop)
        loop_post(p->loop, start_fiber, p);
    else
        p->tasks[p->task_count] =
            task_start(p->world, "quarry-async", async_serve, p);
    p->task_count++;
}

/* The number of calls that one task takes. PRE: the lock is held. */
static size_t async_share(const struct async_pool *p)
{
    size_t n = p->loop ? p->in_flight / CROWDS : 1;
    return MIN_OF(MAX_OF(n, 1), (size_t)ASYNC_TOGETHER_MAX);
}

/* Wake or start a task, unless those about to look at the queue will empty it.
 * PRE: the lock is held. */
static void wake_task(struct async_pool *p)
{
    if (p->queued <= (p->gathering + p->woken) * async_share(p))
        return;
    if (p->idle > p->woken)
        cond_signal(&p->work);
    else if (p->task_count < p->task_max)
        start_task(p);
    else
        return; /* A busy task will look at the queue. */
    p->woken++;
}

/* PRE: the lock is held. */
static void async_push(struct async_pool *p, struct async_call *call)
{
    INVARIANT((p->head == NULL) == (p->tail == NULL));
    call->next = NULL;
    if (p->tail)
        p->tail->next = call;
    else
        p->head = call;
    p->tail = call;
    p->queued++;
    wake_task(p);
}

/* PRE: the lock is held, and *@at is queued, behind @before. */
static struct async_call *take_out(struct async_pool *p,
                                   struct async_call **at,
                                   struct async_call *before)
{
    struct async_call *call = *at;
    PRE(p->queued > 0);
    *at = call->next;
    if (p->tail == call)
        p->tail = before;
    p->queued--;
    call->next = NULL;
    return call;
}

/* Chain calls that may go with @first behind it. PRE: the lock is held. */
static void take_along(struct async_pool *p, struct async_call *first)
{
    struct async_call **at = &p->head;
    struct async_call *before = NULL;
    struct async_call *last = first;
    size_t bytes = first->bytes;
    size_t count = 1;
    size_t max = async_share(p);
    for (size_t i = 0; i < LOOKS_MAX && *at && count < max; i++) {
        struct async_call *call = *at;
        if (call->alone || call->kind != first->kind ||
            !trace_id_eq(call->trace.trace, first->trace.trace) ||
            bytes + call->bytes > ASYNC_TOGETHER_BYTES_MAX ||
            !first->kind->goes_with(first, call)) {
            before = call;
            at = &call->next;
            continue;
        }
        last->next = take_out(p, at, before);
        last = last->next;
        bytes += call->bytes;
        count++;
    }
}

/* An answer wakes many fibers at once: let those that are about to make calls
 * queue them. PRE: the lock is held. */
static void let_others_queue(struct async_pool *p)
{
    if (!p->loop || p->queued >= async_share(p))
        return;
    p->gathering++;
    mutex_unlock(&p->lock);
    fiber_yield();
    mutex_lock(&p->lock);
    p->gathering--;
}

/* Can no call end before a task returns from its callback? Calls of a group end
 * one after the other: while the first calls back, no other task takes the
 * rest, even an idle one. PRE: the lock is held. */
static bool is_stuck(const struct async_pool *p)
{
    if (!p->loop)
        return p->calling_back == p->task_count;
    return p->calling_back + p->idle == p->task_count &&
           !(p->head && p->idle > 0);
}

/* The caller's place among those in callbacks; calling_back: not there. PRE:
 * the lock is held. */
static unsigned where_inside(const struct async_pool *p)
{
    unsigned i = 0;
    while (i < p->calling_back && p->inside[i] != fiber_or_thread())
        i++;
    return i;
}

/* PRE: the lock is held. */
static void wait_for_work(struct async_pool *p)
{
    while (!p->head && !p->stop) {
        p->idle++;
        if (p->loop && is_stuck(p))
            cond_broadcast(&p->done); /* Let those through who wait inside. */
        cond_wait(&p->work, &p->lock);
        p->idle--;
        p->woken -= p->woken > 0;
    }
}

/* Calls that go together; NULL: it is over. PRE: the lock is held. */
static struct async_call *take_calls(struct async_pool *p)
{
    struct async_call *first;
    do {
        wait_for_work(p);
        if (!p->head)
            return NULL;
        let_others_queue(p);
    } while (!p->head);
    first = take_out(p, &p->head, NULL);
    if (p->loop && first->kind->goes_with && !first->alone)
        take_along(p, first);
    wake_task(p);
    return first;
}

/* Its run is over: call back, or queue it again. The lock is held afterwards.
 */
static void end_call(struct async_pool *p, struct async_call *call)
{
    bool again = call->again;
    if (!again)
        call->kind->finish(call);
    mutex_lock(&p->lock);
    if (again) {
        call->again = false;
        call->alone = true;
        async_push(p, call);
    } else {
        INVARIANT(p->in_flight > 0);
        p->in_flight--;
        cond_broadcast(&p->done);
    }
}

/* PRE: the lock is held. */
static void end_calls(struct async_pool *p, struct async_call *calls)
{
    PRE(p->calling_back < p->task_count);
    p->inside[p->calling_back++] = fiber_or_thread();
    if (is_stuck(p))
        cond_broadcast(&p->done); /* Let those through who wait inside. */
    while (calls) {
        struct async_call *call = calls;
        calls = call->next;
        mutex_unlock(&p->lock);
        end_call(p, call);
    }
    p->inside[where_inside(p)] = p->inside[p->calling_back - 1];
    p->calling_back--;
}

static void async_serve(void *arg)
{
    struct async_pool *p = arg;
    struct async_call *calls;
    mutex_lock(&p->lock);
    p->woken -= p->woken > 0;
    while ((calls = take_calls(p)) != NULL) {
        struct trace_context trace = calls->trace;
        mutex_unlock(&p->lock);
        trace_use_context(&trace);
        calls->kind->run(calls);
        (void)fiber_set_context(NULL);
        mutex_lock(&p->lock);
        end_calls(p, calls);
    }
    mutex_unlock(&p->lock);
}

void async_pool_submit(struct async_pool *p, struct async_call *call)
{
    trace_copy_context(&call->trace);
    mutex_lock(&p->lock);
    while (p->in_flight >= p->call_max &&
           !(is_stuck(p) && where_inside(p) < p->calling_back))
        cond_wait(&p->done, &p->lock);
    p->in_flight++;
    async_push(p, call);
    mutex_unlock(&p->lock);
}

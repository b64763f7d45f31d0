/* Mutexes and condition variables over waiters.
 *
 * mutex.state has two bits: HELD, and WAITERS, which says that the list is not
 * empty. WAITERS changes only under the guard; HELD is taken by anyone who
 * finds it clear. An unlock that finds WAITERS clear is one compare-and-swap.
 *
 * The oldest waiter is woken and competes with running threads; when it loses
 * it goes back to the head of the list, and the next unlock hands the mutex to
 * it. That keeps throughput (no convoy through the scheduler) and bounds
 * waiting.
 *
 * A signalled waiter whose mutex is held moves to the mutex's list instead of
 * waking up only to sleep again, except for fibers of the signaller's own loop
 * (runs_later()).
 *
 * Lock order: a condition's guard is never held together with a mutex's guard.
 */
#include "base/runtime/sync.h"

#include <sched.h>
#include <stddef.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/waiter.h"
#include "base/runtime/world.h"

enum {
    HELD = 1,
    WAITERS = 2
};

/* Tries before a thread queues: about a microsecond, the length of the critical
 * sections that locks here protect. */
#define MUTEX_SPIN_COUNT 40
#define GUARD_SPIN_COUNT 100

static void guard_take(atomic_uint *guard)
{
    unsigned spins = 0;
    while (atomic_exchange_explicit(guard, 1, memory_order_acquire)) {
        while (atomic_load_explicit(guard, memory_order_relaxed)) {
            if (++spins % GUARD_SPIN_COUNT == 0)
                sched_yield(); /* Its holder may have been preempted. */
            else
                cpu_relax();
        }
    }
}

static void guard_give(atomic_uint *guard)
{
    atomic_store_explicit(guard, 0, memory_order_release);
}

/* --- lists of waiters ---------------------------------------------------- */

static void list_append(struct sync_waiter **head,
                        struct sync_waiter **tail,
                        struct sync_waiter *w)
{
    w->next = NULL;
    w->prev = *tail;
    if (*tail)
        (*tail)->next = w;
    else
        *head = w;
    *tail = w;
}

static void list_prepend(struct sync_waiter **head,
                         struct sync_waiter **tail,
                         struct sync_waiter *w)
{
    w->prev = NULL;
    w->next = *head;
    if (*head)
        (*head)->prev = w;
    else
        *tail = w;
    *head = w;
}

static void list_remove(struct sync_waiter **head,
                        struct sync_waiter **tail,
                        struct sync_waiter *w)
{
    if (w->prev)
        w->prev->next = w->next;
    else
        *head = w->next;
    if (w->next)
        w->next->prev = w->prev;
    else
        *tail = w->prev;
}

/* --- mutex --------------------------------------------------------------- */

void mutex_init(struct mutex *m)
{
    atomic_init(&m->state, 0);
    atomic_init(&m->guard, 0);
    m->head = NULL;
    m->tail = NULL;
}

void mutex_close(struct mutex *m)
{
    PRE(atomic_load(&m->state) == 0);
    PRE(!m->head);
}

bool mutex_try_lock(struct mutex *m)
{
    unsigned s = atomic_load_explicit(&m->state, memory_order_relaxed);
    while (!(s & HELD))
        if (atomic_compare_exchange_weak_explicit(&m->state, &s, s | HELD,
                                                  memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

/* Spinning helps only if the holder runs on another CPU. Fibers do not spin:
 * the holder may be a fiber of the same loop. */
static bool spin_lock(struct mutex *m)
{
    if (fiber_self())
        return mutex_try_lock(m);
    for (int i = 0; i < MUTEX_SPIN_COUNT; i++) {
        if (mutex_try_lock(m))
            return true;
        cpu_relax();
    }
    return false;
}

/* Lock @m, or put @w on its list; true if locked. */
static bool lock_or_queue(struct mutex *m, struct sync_waiter *w)
{
    bool taken;
    guard_take(&m->guard);
    atomic_fetch_or_explicit(&m->state, WAITERS, memory_order_relaxed);
    taken = mutex_try_lock(m);
    if (!taken && w->overtaken)
        list_prepend(&m->head, &m->tail, w);
    else if (!taken)
        list_append(&m->head, &m->tail, w);
    else if (!m->head)
        atomic_fetch_and_explicit(&m->state, ~(unsigned)WAITERS,
                                  memory_order_relaxed);
    guard_give(&m->guard);
    return taken;
}

/* Wait until @m is locked by the caller. @w is fresh or was woken from the
 * mutex's list. */
static void lock_queued(struct mutex *m, struct sync_waiter *w)
{
    while (!w->owner && !lock_or_queue(m, w)) {
        waiter_wait(w);
        if (w->owner || spin_lock(m))
            return;
        w->overtaken = true;
        waiter_rearm(w);
    }
}

static void lock_slow(struct mutex *m)
{
    struct sync_waiter w;
    if (spin_lock(m))
        return;
    waiter_init(&w);
    lock_queued(m, &w);
}

void mutex_lock(struct mutex *m)
{
    unsigned free_state = 0;
    if (!atomic_compare_exchange_strong_explicit(&m->state, &free_state, HELD,
                                                 memory_order_acquire,
                                                 memory_order_relaxed))
        lock_slow(m);
}

static void unlock_slow(struct mutex *m)
{
    struct sync_waiter *w;
    unsigned rest;
    guard_take(&m->guard);
    w = m->head;
    INVARIANT(w); /* WAITERS is set only while the list is not empty. */
    list_remove(&m->head, &m->tail, w);
    rest = m->head ? WAITERS : 0;
    w->owner = w->overtaken;
    if (w->owner)
        rest |= HELD;
    atomic_store_explicit(&m->state, rest, memory_order_release);
    guard_give(&m->guard);
    waiter_wake(w);
}

void mutex_unlock(struct mutex *m)
{
    unsigned held = HELD;
    if (!atomic_compare_exchange_strong_explicit(
            &m->state, &held, 0, memory_order_release, memory_order_relaxed)) {
        PRE(held & HELD);
        unlock_slow(m);
    }
}

/* --- condition variable -------------------------------------------------- */

void cond_init(struct cond *c)
{
    atomic_init(&c->guard, 0);
    c->head = NULL;
    c->tail = NULL;
}

void cond_close(struct cond *c)
{
    PRE(!c->head);
}

static void cond_enqueue(struct cond *c, struct mutex *m, struct sync_waiter *w)
{
    waiter_init(w);
    w->mutex = m;
    w->queued = true;
    guard_take(&c->guard);
    list_append(&c->head, &c->tail, w);
    guard_give(&c->guard);
}

/* After the wake-up: the mutex may have been handed over meanwhile. */
static void mutex_relock(struct mutex *m, struct sync_waiter *w)
{
    if (w->owner || spin_lock(m))
        return;
    waiter_rearm(w);
    lock_queued(m, w);
}

void cond_wait(struct cond *c, struct mutex *m)
{
    struct sync_waiter w;
    cond_enqueue(c, m, &w);
    mutex_unlock(m);
    waiter_wait(&w);
    mutex_relock(m, &w);
}

/* Leave the list after a time-out; false when a signal was faster. */
static bool cond_leave(struct cond *c, struct sync_waiter *w)
{
    bool was_queued;
    guard_take(&c->guard);
    was_queued = w->queued;
    if (was_queued)
        list_remove(&c->head, &c->tail, w);
    w->queued = false;
    guard_give(&c->guard);
    return was_queued;
}

bool cond_wait_us(struct cond *c, struct mutex *m, struct world *w, uint64_t us)
{
    struct sync_waiter self;
    uint64_t now = world_mono_ns(w);
    uint64_t until =
        us > (UINT64_MAX - now) / 1000 ? UINT64_MAX : now + us * 1000;
    cond_enqueue(c, m, &self);
    mutex_unlock(m);
    if (!waiter_wait_until(&self, until)) {
        if (cond_leave(c, &self)) {
            mutex_lock(m);
            return false;
        }
        waiter_wait(&self);
    }
    mutex_relock(m, &self);
    return true;
}

/* True if @w can run only after the running fiber, which may hold the mutex,
 * has parked or ended. It then usually finds the mutex free, and waiters
 * that are woken together run together instead of one after another as each
 * unlocks. */
static bool runs_later(const struct sync_waiter *w)
{
    const struct fiber *self = fiber_self();
    return w->fiber && self && fiber_loop(w->fiber) == fiber_loop(self);
}

/* Wake @w, or let it queue for its mutex if that is held. */
static void sync_waiter_release(struct sync_waiter *w)
{
    struct mutex *m = w->mutex;
    bool moved = false;
    unsigned s;
    if (runs_later(w)) {
        waiter_wake(w);
        return;
    }
    guard_take(&m->guard);
    s = atomic_load_explicit(&m->state, memory_order_relaxed);
    while ((s & HELD) && !moved)
        moved = atomic_compare_exchange_weak_explicit(
            &m->state, &s, s | WAITERS, memory_order_relaxed,
            memory_order_relaxed);
    if (moved)
        list_append(&m->head, &m->tail, w);
    guard_give(&m->guard);
    if (!moved)
        waiter_wake(w);
}

static struct sync_waiter *cond_pop(struct cond *c)
{
    struct sync_waiter *w;
    guard_take(&c->guard);
    w = c->head;
    if (w) {
        list_remove(&c->head, &c->tail, w);
        w->queued = false;
    }
    guard_give(&c->guard);
    return w;
}

void cond_signal(struct cond *c)
{
    struct sync_waiter *w = cond_pop(c);
    if (w)
        sync_waiter_release(w);
}

void cond_broadcast(struct cond *c)
{
    struct sync_waiter *w;
    struct sync_waiter *next;
    guard_take(&c->guard);
    w = c->head;
    c->head = NULL;
    c->tail = NULL;
    for (struct sync_waiter *each = w; each; each = each->next)
        each->queued = false;
    guard_give(&c->guard);
    for (; w; w = next) {
        next = w->next; /* sync_waiter_release() may free @w. */
        sync_waiter_release(w);
    }
}

/* Waiting: threads by futex, fibers by parking. A thread spins, then polls
 * (busy_poll.h), and only then sleeps: most waits for a mutex or an answer
 * from another thread are shorter than going to sleep and waking up. */
#define _GNU_SOURCE

#include "base/runtime/waiter.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/busy_poll.h"
#include "base/runtime/fiber_loop.h"

/* Reads of the flag in a row before other threads get a turn. */
#define WAIT_SPIN_COUNT 100

/* Values of sync_waiter.woken. */
enum {
    WAITING = 0,
    WOKEN = 1,
    ASLEEP = 2, /* A thread that the kernel must wake. */
};

static _Thread_local struct busy_poll thread_busy_poll;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* CLOCK_MONOTONIC stops while the machine is suspended: a lease would still
 * be valid there after it had expired everywhere else. */
uint64_t real_mono_ns(void)
{
    return clock_ns(CLOCK_BOOTTIME);
}

/* The same moment on the clock that a futex waits by. */
static struct timespec futex_time(uint64_t mono_ns)
{
    uint64_t now = real_mono_ns();
    uint64_t ns =
        clock_ns(CLOCK_MONOTONIC) + (mono_ns > now ? mono_ns - now : 0);
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

void waiter_init(struct sync_waiter *w)
{
    *w = (struct sync_waiter){.fiber = fiber_self()};
    atomic_init(&w->woken, WAITING);
}

void waiter_rearm(struct sync_waiter *w)
{
    PRE(atomic_load_explicit(&w->woken, memory_order_relaxed) == WOKEN);
    PRE(!w->queued);
    atomic_store_explicit(&w->woken, WAITING, memory_order_relaxed);
}

static bool is_woken(struct sync_waiter *w)
{
    return atomic_load_explicit(&w->woken, memory_order_acquire) == WOKEN;
}

static bool waiter_spin(struct sync_waiter *w)
{
    for (int i = 0; i < WAIT_SPIN_COUNT; i++) {
        if (is_woken(w))
            return true;
        cpu_relax();
    }
    return false;
}

static bool waiter_look(struct sync_waiter *w, struct busy_poll *b)
{
    if (!busy_poll_begin(b))
        return false;
    do {
        if (waiter_spin(w))
            return true;
    } while (busy_poll_again(b));
    return false;
}

/* Sleep until the waiter is woken, or @until, NULL for ever. */
static bool futex_sleep(struct sync_waiter *w, const struct timespec *until)
{
    unsigned seen = WAITING;
    atomic_compare_exchange_strong_explicit(
        &w->woken, &seen, ASLEEP, memory_order_relaxed, memory_order_relaxed);
    while (!is_woken(w)) {
        long rc = syscall(SYS_futex, &w->woken,
                          FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, ASLEEP, until,
                          NULL, FUTEX_BITSET_MATCH_ANY);
        if (rc && errno == ETIMEDOUT)
            return is_woken(w);
    }
    return true;
}

/* Poll, then sleep; false when @until came first. */
static bool thread_wait(struct sync_waiter *w, const struct timespec *until)
{
    bool caught;
    bool woken;
    if (waiter_spin(w))
        return true;
    caught = waiter_look(w, &thread_busy_poll);
    woken = caught || futex_sleep(w, until);
    busy_poll_end(&thread_busy_poll, caught);
    return woken;
}

void waiter_wait(struct sync_waiter *w)
{
    if (w->fiber) {
        while (!is_woken(w))
            fiber_park();
        return;
    }
    thread_wait(w, NULL);
}

bool waiter_wait_until(struct sync_waiter *w, uint64_t mono_ns)
{
    if (mono_ns == UINT64_MAX) {
        waiter_wait(w);
        return true;
    }
    if (!w->fiber) {
        struct timespec until = futex_time(mono_ns);
        return thread_wait(w, &until);
    }
    while (!is_woken(w))
        if (!fiber_park_until(mono_ns))
            return is_woken(w);
    return true;
}

void waiter_wake(struct sync_waiter *w)
{
    struct fiber *f = w->fiber;
    struct loop *l;
    if (!f) {
        atomic_uint *word = &w->woken;
        unsigned was =
            atomic_exchange_explicit(word, WOKEN, memory_order_release);
        /* @w may be gone by now; waking an address nobody waits on, mapped or
         * not, does no harm. */
        if (was == ASLEEP)
            syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL,
                    NULL, 0);
        return;
    }
    /* Once the flag is up the fiber may end and its loop be freed. */
    l = fiber_loop(f);
    loop_hold(l);
    atomic_store_explicit(&w->woken, WOKEN, memory_order_release);
    fiber_wake(f);
    loop_unhold(l);
}

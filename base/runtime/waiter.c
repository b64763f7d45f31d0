/* Waiting, for threads by futex and for fibers by parking. */
#define _GNU_SOURCE

#include "base/runtime/waiter.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/core/macros.h"
#include "base/runtime/fiber_loop.h"

/* Looks at the flag before a thread goes to sleep: a wake-up through the kernel
 * costs tens of microseconds, an answer from another CPU often less. */
#define WAIT_SPIN_COUNT 100

uint64_t real_mono_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void waiter_init(struct sync_waiter *w)
{
    *w = (struct sync_waiter){.fiber = fiber_self()};
    atomic_init(&w->woken, 0);
}

void waiter_rearm(struct sync_waiter *w)
{
    atomic_store_explicit(&w->woken, 0, memory_order_relaxed);
}

static bool is_woken(struct sync_waiter *w)
{
    return atomic_load_explicit(&w->woken, memory_order_acquire) != 0;
}

static bool spin(struct sync_waiter *w)
{
    for (int i = 0; i < WAIT_SPIN_COUNT; i++) {
        if (is_woken(w))
            return true;
        cpu_relax();
    }
    return false;
}

/* Sleep while the word is 0; @until NULL for ever. False on time-out. */
static bool futex_sleep(atomic_uint *word, const struct timespec *until)
{
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
                      0, until, NULL, FUTEX_BITSET_MATCH_ANY);
    return rc == 0 || errno != ETIMEDOUT;
}

void waiter_wait(struct sync_waiter *w)
{
    if (w->fiber) {
        while (!is_woken(w))
            fiber_park();
        return;
    }
    if (spin(w))
        return;
    while (!is_woken(w))
        futex_sleep(&w->woken, NULL);
}

static bool thread_wait_until(struct sync_waiter *w, uint64_t mono_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(mono_ns / 1000000000),
                          .tv_nsec = (long)(mono_ns % 1000000000)};
    while (!is_woken(w))
        if (!futex_sleep(&w->woken, &ts))
            return is_woken(w);
    return true;
}

bool waiter_wait_until(struct sync_waiter *w, uint64_t mono_ns)
{
    if (mono_ns == UINT64_MAX) {
        waiter_wait(w);
        return true;
    }
    if (!w->fiber)
        return spin(w) || thread_wait_until(w, mono_ns);
    while (!is_woken(w))
        if (!fiber_park_until(mono_ns))
            return is_woken(w);
    return true;
}

int waiter_wait_checked(struct sync_waiter *w, struct err *err)
{
    int rc = 0;
    if (!w->fiber) {
        waiter_wait(w);
        return 0;
    }
    while (rc == 0 && !is_woken(w))
        rc = fiber_park_checked(err);
    return rc;
}

void waiter_wake(struct sync_waiter *w)
{
    struct fiber *f = w->fiber;
    struct loop *l;
    if (!f) {
        atomic_uint *word = &w->woken;
        atomic_store_explicit(word, 1, memory_order_release);
        /* @w may be gone by now; waking an address nobody waits on, mapped or
         * not, does no harm. */
        syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL,
                0);
        return;
    }
    /* Once the flag is up the fiber may end and its loop be freed. */
    l = fiber_loop(f);
    loop_hold(l);
    atomic_store_explicit(&w->woken, 1, memory_order_release);
    fiber_wake(f);
    loop_unhold(l);
}

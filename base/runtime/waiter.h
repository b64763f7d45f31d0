/* A waiter: a fiber that parks, or a plain thread that sleeps in the kernel,
 * behind one interface. Private to base/runtime.
 *
 * A waiter lives on the stack of the caller that waits. It is put on a list,
 * and the thread that removes it from that list wakes it, once. After
 * waiter_wake() the waiter may be gone.
 */
#ifndef BASE_RUNTIME_WAITER_H
#define BASE_RUNTIME_WAITER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct fiber;
struct mutex;

struct sync_waiter {
    struct sync_waiter *next; /* On the list of a mutex or cond, guarded by */
    struct sync_waiter *prev; /* that list's guard. */
    struct fiber *fiber;      /* NULL: a plain thread. */
    atomic_uint woken;        /* Of waiter.c; a futex for threads. */
    struct mutex *mutex;      /* Of cond_wait: to be taken again. */
    bool queued;              /* On a condition's list. */
    bool overtaken;           /* It was woken and lost the race: next time it
                                 is handed the mutex. */
    bool owner;               /* It was handed the mutex. */
};

/* Prepare @w for the calling fiber or thread. */
void waiter_init(struct sync_waiter *w);
/* Make it wait once more. PRE: it was woken and is on no list. */
void waiter_rearm(struct sync_waiter *w);
/* Return once woken. Parks. */
void waiter_wait(struct sync_waiter *w);
/* The same until monotonic @mono_ns of the waiter's world; false when that time
 * came first: then the waiter may still be on its list. Parks. */
bool waiter_wait_until(struct sync_waiter *w, uint64_t mono_ns);
/* Any thread. */
/* Wake it, once; @w may be gone afterwards. Any thread. */
void waiter_wake(struct sync_waiter *w);

/* Monotonic clock of the real world. */
uint64_t real_mono_ns(void);

/* Tell the CPU that this is a spin loop. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

#endif /* BASE_RUNTIME_WAITER_H */

/* Mutexes and condition variables for fibers and threads alike.
 *
 * A fiber that must wait parks and its loop continues; a plain thread sleeps in
 * the kernel. One lock may be shared by both. Uncontended lock and unlock are
 * one atomic operation each.
 *
 * A fiber may hold a mutex across a parking call; the others wait for as long.
 * Locks are not recursive. Waiters are served in order; a running thread may
 * overtake the oldest of them once.
 */
#ifndef BASE_RUNTIME_SYNC_H
#define BASE_RUNTIME_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct world;
struct sync_waiter;

struct mutex {
    atomic_uint state;        /* Bits: 1 held, 2 with waiters. */
    atomic_uint guard;        /* Spin lock of the two fields below. */
    struct sync_waiter *head; /* Oldest waiter. */
    struct sync_waiter *tail; /* Newest waiter. */
};

struct cond {
    atomic_uint guard; /* Spin lock of the two fields below. */
    struct sync_waiter *head;
    struct sync_waiter *tail;
};

/* An unlocked mutex. */
void mutex_init(struct mutex *m);
void mutex_close(struct mutex *m); /* PRE: free, nobody waits. */
void mutex_lock(struct mutex *m);  /* Parks. */
/* Lock it if it is free; never waits. */
bool mutex_try_lock(struct mutex *m);
/* PRE: the caller holds it. */
void mutex_unlock(struct mutex *m);

/* Does anybody hold it? For assertions: who shall hold a lock and has not taken
 * it is found unless another holds it at that moment. Any thread. */
static inline bool mutex_is_held(const struct mutex *m)
{
    return atomic_load_explicit(&m->state, memory_order_relaxed) & 1;
}

/* A condition nobody waits for. */
void cond_init(struct cond *c);
void cond_close(struct cond *c); /* PRE: nobody waits. */
/* Release @m, wait for a signal, take @m again. Parks. Wakes may be spurious.
 * PRE: @m is held by the caller. */
void cond_wait(struct cond *c, struct mutex *m);
/* As cond_wait, but gives up after @us; false when it did. */
bool cond_wait_us(struct cond *c,
                  struct mutex *m,
                  struct world *w,
                  uint64_t us);
void cond_signal(struct cond *c);    /* Wake one. Any thread. */
void cond_broadcast(struct cond *c); /* Wake all. Any thread. */

#endif /* BASE_RUNTIME_SYNC_H */

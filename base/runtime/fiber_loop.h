/* The state that fibers, loops and waiters share. Private to base/runtime.
 *
 * A loop implementation (world_uv_loop.c, world_sim.c) embeds struct loop first
 * and drives it: loop__drain_posts(), loop__expire_timers(), loop__run_fiber().
 *
 * States of a fiber:
 *     FREE -> READY      fiber_start() takes it from the loop's pool
 *     READY -> RUNNING   the loop switches to it
 *     RUNNING -> PARKED  it waits; a wake or its timer makes it READY
 *     RUNNING -> ENDED   its function returned; joined or detached: FREE
 *
 * Invariants, while the loop runs no fiber (kept by fiber.c)
 *     INV-1. Only a PARKED fiber has a timer, and is then in `timers`.
 *     INV-2. `live` holds the fibers that are not FREE, live_count of them.
 *     INV-3. timers[f->timer_index] is f, for every fiber in the heap.
 *     INV-4. Fibers in `pool` have a stack, those in `bare` have none.
 */
#ifndef BASE_RUNTIME_FIBER_LOOP_H
#define BASE_RUNTIME_FIBER_LOOP_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

struct sync_waiter;

#define LOOP_NAME_BYTES  32
#define FIBER_NAME_BYTES 32

/* A function for a loop to call, on its lock-free queue. */
struct loop_post {
    struct loop_post *next;
    loop_fn fn; /* NULL: wake `fiber`, which embeds this node. */
    void *arg;
    struct fiber *fiber;
};

enum fiber_state {
    FIBER_FREE,
    FIBER_READY,
    FIBER_RUNNING,
    FIBER_PARKED,
    FIBER_ENDED,
};

struct fiber {
    struct loop *loop;
    struct fiber *next_ready; /* In the loop's run queue. */
    struct fiber *next_free;  /* In the loop's pool. */
    struct fiber *next_live;  /* In the loop's list of live fibers. */
    struct fiber *prev_live;
    char *stack;   /* Lowest usable byte; the guard page is below. */
    void *context; /* Where to continue, while it does not run. */
    void *back;    /* The scheduler's context, while it runs. */
    fiber_fn fn;
    void *arg;
    enum fiber_state state;
    bool notified; /* Woken while it ran: the next park returns at once. */
    bool timed_out;
    bool detached;
    atomic_bool cancelled;
    atomic_bool posted; /* `post` is on the loop's queue. */
    struct loop_post post;
    uint64_t deadline_ns;       /* Of its work; 0: none. */
    void *owner_context;        /* See fiber_context(). */
    uint64_t wake_at_ns;        /* Key in the loop's heap of timers. */
    size_t timer_index;         /* In that heap; SIZE_MAX when not there. */
    uint64_t started_ns;        /* For the dump. */
    struct sync_waiter *joiner; /* The waiter in fiber_join(), or NULL. */
    char name[FIBER_NAME_BYTES];
    void *asan_fake_stack; /* Sanitizers' view; NULL without them. */
    const void *asan_back_stack;
    size_t asan_back_bytes;
    void *tsan_fiber;
};

struct loop_ops {
    void (*free)(struct loop *l);
    void (*start)(struct loop *l);
    void (*join)(struct loop *l);
    uint64_t (*now_ns)(struct loop *l);
    /* Something was posted. Any thread. */
    void (*wakeup)(struct loop *l);
    /* @f became READY: run it later. */
    void (*ready)(struct loop *l, struct fiber *f);
    /* offload() on a fiber. */
    void (*offload)(struct loop *l, loop_fn fn, void *arg);
};

struct loop {
    const struct loop_ops *ops;
    struct world *world;
    const void *home; /* Its driver: equal for loops of one thread. */
    char name[LOOP_NAME_BYTES];
    _Atomic(struct loop_post *) posts; /* Newest first. */
    atomic_uint holders;               /* See loop_hold(). */
    atomic_bool stop_asked;
    bool stopping;      /* Fibers were cancelled, and new ones are refused. */
    struct fiber *live; /* All fibers neither FREE nor joined. */
    size_t live_count;
    struct fiber *pool; /* FREE fibers with their stacks, */
    size_t pool_count;
    struct fiber *bare; /* and those without: taken when the pool is empty. */
    struct fiber **timers; /* Heap by wake_at_ns. */
    size_t timer_count;
    size_t timer_cap;
    void *asan_fake_stack; /* Of the scheduler while a fiber runs. */
    void *tsan_fiber;
};

/* --- for loop implementations -------------------------------------------- */

void loop__init(struct loop *l,
                const struct loop_ops *ops,
                struct world *w,
                const char *name);
/* Free its timers and pooled fibers. */
void loop__close(struct loop *l); /* PRE: no live fiber. */

/* The calling thread drives the loops with this home from now on; returns
 * its previous home. */
const void *loop__enter(const void *home);

/* Call the posted functions; true if there were any. */
bool loop__drain_posts(struct loop *l);
/* Earliest timer, UINT64_MAX when none. */
uint64_t loop__next_timer_ns(const struct loop *l);
/* Make READY the fibers whose timers expired. */
void loop__expire_timers(struct loop *l, uint64_t now_ns);
/* Switch to the READY @f until it parks or ends. */
void loop__run_fiber(struct fiber *f);
/* Cancel all live fibers and take no new ones. */
void loop__cancel_fibers(struct loop *l);
/* Queue @post and wake the loop. Any thread. */
void loop__push(struct loop *l, struct loop_post *post);

/* --- for parking calls --------------------------------------------------- */

/* Keep @l from being freed while another thread is about to wake a fiber of
 * it. Any thread. */
void loop_hold(struct loop *l);
void loop_unhold(struct loop *l);

/* Parks; returns early when the fiber is cancelled. */
void fiber_sleep_us(uint64_t us);

/* fiber_wake() on the loop's own thread. */
void fiber__wake_here(struct fiber *f);

/* --- stacks (fiber_stack.c) ---------------------------------------------- */

/* Lowest usable byte of FIBER_STACK_BYTES above a guard page. */
char *fiber_stack_map(void);
/* Unmap a stack of fiber_stack_map(). */
void fiber_stack_unmap(char *stack);

#endif /* BASE_RUNTIME_FIBER_LOOP_H */

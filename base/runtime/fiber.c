/* Fibers: for now plain threads alone wait. */
#include <sched.h>

#include "base/core/panic.h"
#include "base/runtime/fiber_loop.h"

struct fiber *fiber_self(void)
{
    return NULL;
}

struct loop *fiber_loop(const struct fiber *f)
{
    PRE(f);
    return NULL;
}

void fiber_park(void)
{
    sched_yield();
}

void fiber_wake(struct fiber *f)
{
    PRE(f);
}

bool fiber_park_until(uint64_t mono_ns)
{
    return mono_ns == 0;
}

void fiber_sleep_us(uint64_t us)
{
    PRE(us == 0);
}

void loop_hold(struct loop *l)
{
    PRE(l);
}

void loop_unhold(struct loop *l)
{
    PRE(l);
}

void offload(loop_fn fn, void *arg)
{
    fn(arg);
}

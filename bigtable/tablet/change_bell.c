/* One who waits counts before he looks at the value, and a writer changes it
 * before he looks at the count: no bell is missed.
 */
#include "bigtable/tablet/change_bell.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

void change_bell_init(struct change_bell *b)
{
    mutex_init(&b->lock);
    cond_init(&b->rung);
    atomic_init(&b->waiters, 0);
}

void change_bell_close(struct change_bell *b)
{
    PRE(atomic_load(&b->waiters) == 0);
    cond_close(&b->rung);
    mutex_close(&b->lock);
}

void change_bell_ring(struct change_bell *b)
{
    if (LIKELY(atomic_load(&b->waiters) == 0))
        return;
    mutex_lock(&b->lock);
    cond_broadcast(&b->rung);
    mutex_unlock(&b->lock);
}

void change_bell_wait(struct change_bell *b,
                      struct world *world,
                      const atomic_ullong *value,
                      uint64_t seen,
                      uint64_t us)
{
    atomic_fetch_add(&b->waiters, 1);
    mutex_lock(&b->lock);
    if (atomic_load(value) <= seen)
        cond_wait_us(&b->rung, &b->lock, world, us);
    mutex_unlock(&b->lock);
    atomic_fetch_sub(&b->waiters, 1);
}

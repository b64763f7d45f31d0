/* A clock for ages. It keeps its offset to the monotonic clock, and moves it to
 * the machine's clock when the two are apart by more than half a second. When
 * the machine's clock is far ahead, the offset stays and the moment is noted at
 * which that was seen first. Both are atomics without a lock: a look between
 * the two changes finds the old time or the new one.
 */
#include "bigtable/tablet/age_clock.h"

#include "base/core/macros.h"
#include "base/core/panic.h"

/* A step of less is none, and a clock that is corrected by less is followed. */
#define STEP_US INT64_C(2000000)

static int64_t mono_us(uint64_t mono_ns)
{
    return (int64_t)(mono_ns / 1000);
}

void age_clock_init(struct age_clock *c, int64_t wall_us, uint64_t mono_ns)
{
    c->begun_ns = mono_ns;
    atomic_init(&c->offset_us, wall_us - mono_us(mono_ns));
    atomic_init(&c->since_ns, 0);
}

static int64_t
age_clock_trust(struct age_clock *c, int64_t wall_us, uint64_t mono_ns)
{
    PRE(mono_ns >= c->begun_ns);
    atomic_store(&c->offset_us, wall_us - mono_us(mono_ns));
    atomic_store(&c->since_ns, 0);
    return wall_us;
}

/* The clock is ahead of @expected_us. */
static int64_t age_clock_doubt(struct age_clock *c,
                               int64_t wall_us,
                               int64_t expected_us,
                               uint64_t mono_ns)
{
    unsigned long long since_ns = 0;
    PRE(wall_us > expected_us);
    if (atomic_compare_exchange_strong(&c->since_ns, &since_ns,
                                       MAX_OF(mono_ns, UINT64_C(1))) ||
        mono_ns < since_ns || mono_ns - since_ns < AGE_CLOCK_TRUST_US * 1000)
        return expected_us;
    return age_clock_trust(c, wall_us, mono_ns);
}

int64_t age_clock_now(struct age_clock *c, int64_t wall_us, uint64_t mono_ns)
{
    int64_t expected_us =
        mono_us(mono_ns) +
        (int64_t)atomic_load_explicit(&c->offset_us, memory_order_relaxed);
    int64_t ahead_us = wall_us - expected_us;
    PRE(mono_ns >= c->begun_ns);
    if (ahead_us > STEP_US)
        return age_clock_doubt(c, wall_us, expected_us, mono_ns);
    if (ahead_us < -STEP_US / 4 || ahead_us > STEP_US / 4 ||
        atomic_load_explicit(&c->since_ns, memory_order_relaxed))
        return age_clock_trust(c, wall_us, mono_ns);
    return wall_us;
}

bool age_clock_is_proven(const struct age_clock *c, uint64_t mono_ns)
{
    PRE(mono_ns >= c->begun_ns);
    return mono_ns - c->begun_ns >= AGE_CLOCK_TRUST_US * 1000;
}

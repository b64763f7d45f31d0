/* The clock that ages are measured by: a read hides, and a compaction drops,
 * cells that are too old.
 *
 * It follows the machine's clock, but for a step ahead, which counts only once
 * it has lasted for AGE_CLOCK_TRUST_US by the monotonic clock: until then time
 * passes as that one says. So a clock that is ahead for a while makes nothing
 * old.
 *
 * A clock that was wrong from the start cannot be told from a right one. So in
 * a tablet server a compaction, which destroys, also requires
 * age_clock_is_proven(): see store_drop_age_us() of store.h.
 *
 * Invariants
 *     INV-1. The time told is never ahead of the machine's clock.
 *     INV-2. since_ns is 0 unless the last look found the machine's clock more
 *            than two seconds ahead of the time told.
 *     INV-3. The time told steps ahead by more than that only after all looks
 *            for AGE_CLOCK_TRUST_US found the machine's clock ahead.
 *
 * Threads: any, without waiting.
 */
#ifndef BIGTABLE_TABLET_AGE_CLOCK_H
#define BIGTABLE_TABLET_AGE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AGE_CLOCK_TRUST_US (UINT64_C(3600) * 1000000)

struct age_clock {
    uint64_t begun_ns;      /* When the monotonic clock said this. */
    atomic_llong offset_us; /* Of the time told from the monotonic clock. */
    atomic_ullong since_ns; /* The machine's clock is ahead since then; 0: it is
                               not. */
};

/* The machine's clock says @wall_us, its monotonic one @mono_ns. */
void age_clock_init(struct age_clock *c, int64_t wall_us, uint64_t mono_ns);
int64_t age_clock_now(struct age_clock *c, int64_t wall_us, uint64_t mono_ns);
/* Did the clock begin AGE_CLOCK_TRUST_US ago or earlier? */
bool age_clock_is_proven(const struct age_clock *c, uint64_t mono_ns);

#endif /* BIGTABLE_TABLET_AGE_CLOCK_H */

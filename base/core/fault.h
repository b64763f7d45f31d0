/* Named places where a test can make the code fail.
 *
 *     if (fault_hit("manifest.rename"))
 *         return err_set(err, ERR_IO, "injected");
 *
 * Unarmed, a fault point is one load and a predictable branch. A sweep arms the
 * 1st hit, then the 2nd, and so on until a run meets no fault:
 *
 *     for (uint64_t n = 1; ; n++) {
 *         fault_arm(FAULT_ALLOC, n, 1);
 *         run();
 *         if (fault_disarm(FAULT_ALLOC) == 0)
 *             break; // the run has fewer hits
 *     }
 *
 * Every mem_try_alloc() is a hit of FAULT_ALLOC and returns NULL when it fails.
 * Any thread; the points are the process's, so tests that arm them run alone.
 */
#ifndef BASE_CORE_FAULT_H
#define BASE_CORE_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/macros.h"

#define FAULT_ALLOC "mem_try_alloc"

/* Longest name of a point, its NUL included; most points armed at once. */
#define FAULT_NAME_BYTES 48
#define FAULT_POINTS_MAX 16

/* Make @count hits of point @name fail, from the @nth hit from now on (1 is
 * the next). UINT64_MAX: all of them. */
void fault_arm(const char *name, uint64_t nth, uint64_t count);
/* Disarm it; returns how many hits failed. */
uint64_t fault_disarm(const char *name);
void fault_disarm_all(void);
/* Hits since it was armed, failed or not; 0 when it is not armed. */
uint64_t fault_hit_count(const char *name);

/* For fault_hit() alone: points armed, and the look-up while there are any. */
extern atomic_uint fault__armed_count;
bool fault__hit_slow(const char *name);

/* True when the caller must fail here. */
static inline bool fault_hit(const char *name)
{
    return UNLIKELY(atomic_load_explicit(&fault__armed_count,
                                         memory_order_relaxed)) &&
           fault__hit_slow(name);
}

#endif /* BASE_CORE_FAULT_H */

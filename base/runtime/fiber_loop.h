/* What fibers, loops and waiters know of each other. Private to base/runtime.
 */
#ifndef BASE_RUNTIME_FIBER_LOOP_H
#define BASE_RUNTIME_FIBER_LOOP_H

#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

/* Keep @l from being freed while another thread is about to wake something on
 * it. Any thread. */
void loop_hold(struct loop *l);
void loop_unhold(struct loop *l);

/* Park until a wake (true) or monotonic @mono_ns (false). */
bool fiber_park_until(uint64_t mono_ns);
/* Parks; returns early when the fiber is cancelled. */
void fiber_sleep_us(uint64_t us);

#endif /* BASE_RUNTIME_FIBER_LOOP_H */

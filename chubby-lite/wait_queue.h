/* Fibers of one loop that wait for something to change: each looks again when
 * the queue is woken. One loop. */
#ifndef CHUBBY_LITE_WAIT_QUEUE_H
#define CHUBBY_LITE_WAIT_QUEUE_H

#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/err.h"

struct wait_queue_entry;

LIST_HEAD(wait_queue, wait_queue_entry);

/* Wait for the next wake-up, at most until monotonic @until_ns (0: no bound).
 * It may return without one: look again. Parks. Errors: ERR_DEADLINE
 * (@until_ns, or the fiber's own deadline, has come), ERR_CANCELLED. */
MUST_CHECK int
wait_queue_wait(struct wait_queue *b, uint64_t until_ns, struct err *err);
/* The same without a bound, also in a fiber that is cancelled: for a fiber that
 * must outlive others. Parks. */
void wait_queue_park(struct wait_queue *b);
/* Wake all fibers that wait. */
void wait_queue_wake(struct wait_queue *b);

#endif /* CHUBBY_LITE_WAIT_QUEUE_H */

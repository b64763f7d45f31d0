/* Fibers of one loop that wait for something to change: each looks again when
 * the bell rings. One loop. */
#ifndef CHUBBY_LITE_BELL_H
#define CHUBBY_LITE_BELL_H

#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/err.h"

struct bell_waiter;

LIST_HEAD(bell, bell_waiter);

/* Wait for the next ring, at most until monotonic @until_ns (0: no bound). It
 * may return without one: look again. Parks. Errors: ERR_DEADLINE (@until_ns,
 * or the fiber's own deadline, has come), ERR_CANCELLED. */
MUST_CHECK int bell_wait(struct bell *b, uint64_t until_ns, struct err *err);
/* The same without an end, also in a fiber that is cancelled: for who must not
 * go before others have. Parks. */
void bell_park(struct bell *b);
void bell_ring(struct bell *b);

#endif /* CHUBBY_LITE_BELL_H */

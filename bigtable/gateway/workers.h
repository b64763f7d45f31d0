/* Threads for work that would keep the loop from its other calls: long scans a
 * piece at a time, large requests, administration. Started one by one as work
 * piles up; first come, first served.
 *
 * Not the runtime's pool: that one does the disk's work, and a store call that
 * waits on a thread of it for others' disk work could wait for ever.
 */
#ifndef BIGTABLE_GATEWAY_WORKERS_H
#define BIGTABLE_GATEWAY_WORKERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/runtime/sync.h"

struct workers;
struct world;

/* Work that is handed over. Zeroed but for fn and arg; it stays where it is
 * until workers_await() said that it is done. */
struct workers_piece {
    struct workers_piece *next; /* From here on: the pool's. */
    void (*fn)(void *arg);
    void *arg;
    struct cond ended;
    bool done;
};

/* At most @max threads. Owned. */
struct workers *workers_new(struct world *w, unsigned max);
/* PRE: nothing runs. Parks. NULL is allowed. */
void workers_free(struct workers *p);
/* Run fn(arg) on one of them and wait for its end. Parks. Any thread. */
void workers_run(struct workers *p, void (*fn)(void *arg), void *arg);

/* The same in two steps: begin @w, and wait for its end, at most @us. True: it
 * has ended. Parks. */
void workers_begin(struct workers *p, struct workers_piece *w);
bool workers_await(struct workers *p, struct workers_piece *w, uint64_t us);

#endif /* BIGTABLE_GATEWAY_WORKERS_H */

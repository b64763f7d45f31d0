/* Threads for work that would keep the loop from its other calls: long scans a
 * piece at a time, large requests, administration. Started one by one as work
 * piles up; first come, first served.
 *
 * Not the runtime's pool: that one does the disk's work, and a store call that
 * waits on a thread of it for others' disk work could wait for ever.
 */
#ifndef BIGTABLE_GATEWAY_WORKERS_H
#define BIGTABLE_GATEWAY_WORKERS_H

struct workers;
struct world;

/* At most @max threads. Owned. */
struct workers *workers_new(struct world *w, unsigned max);
/* PRE: nothing runs. Parks. NULL is allowed. */
void workers_free(struct workers *p);
/* Run fn(arg) on one of them and wait for its end. Parks. Any thread. */
void workers_run(struct workers *p, void (*fn)(void *arg), void *arg);

#endif /* BIGTABLE_GATEWAY_WORKERS_H */

/* Asynchronous calls: a bounded queue served by a few tasks.
 *
 * Writes of several tasks meet in one group commit; reads of cold rows overlap.
 * The tasks start with the first call.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_CLIENT_ASYNC_H
#define BIGTABLE_CLIENT_ASYNC_H

struct async_pool;
struct world;

#define ASYNC_IN_FLIGHT_MAX 4096

/* One call: the first member of what its author allocated. */
struct async_call {
    struct async_call *next;
    /* Does the work, calls back, and frees the call. On a task of the pool. */
    void (*run)(struct async_call *call);
};

/* @world is borrowed. Owned. */
struct async_pool *async_pool_new(struct world *world);
void async_pool_free(
    struct async_pool *p); /* Drains. NULL is allowed. Parks. */
/* Queue @call; waits while ASYNC_IN_FLIGHT_MAX are in flight. Parks. */
void async_pool_submit(struct async_pool *p, struct async_call *call);
/* Wait until none is in flight. Parks. */
void async_pool_drain(struct async_pool *p);

#endif /* BIGTABLE_CLIENT_ASYNC_H */

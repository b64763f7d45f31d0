/* Threads that compute answers: scans and programs, which would keep the loop
 * from its other fibers. A function that runs here may wait for files, and for
 * nothing that another tablet would have to do: so the pool cannot be full of
 * readers that wait for each other.
 *
 * Threads: any.
 *
 * Invariants, kept by reader_pool.c under its lock
 *     INV-1. At most `max` threads; those that are idle are among them.
 *     INV-2. `tail` points to the end of the queue, `head` itself when it is
 *            empty.
 */
#ifndef BIGTABLE_TABLET_SERVER_READER_POOL_H
#define BIGTABLE_TABLET_SERVER_READER_POOL_H

#include <stddef.h>

struct reader_pool;
struct world;

/* A pool of at most @max threads, started as they are needed. Owned. */
struct reader_pool *reader_pool_new(struct world *w, size_t max);
/* PRE: nothing runs. Parks. NULL is allowed. */
void reader_pool_free(struct reader_pool *p);
/* Run fn(arg) on one of them and wait. Parks. */
void reader_pool_run(struct reader_pool *p, void (*fn)(void *), void *arg);

#endif /* BIGTABLE_TABLET_SERVER_READER_POOL_H */

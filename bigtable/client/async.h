/* Asynchronous calls: a bounded queue served by a few tasks.
 *
 * Why tasks, and not an event loop: in an embedded store a call waits for the
 * disk, inside the engine and below it the kernel, and what it waits for has no
 * event (a sync, a page of a file). Somebody must wait; tasks do. Writes of
 * several tasks meet in one group commit, reads of cold rows overlap in the
 * disk's queue, and with both, more tasks than cores are of use but hundreds
 * are not: the default is 16. They start one by one, when a call finds none
 * idle. Calls of a cluster wait for answers: there the tasks are fibers of a
 * loop, and take calls that may go together as one: a share of all in flight,
 * so that some are on their way while others are answered.
 *
 * The bound holds for callers outside of callbacks. A callback that submits a
 * call waits as long as another task can make room; when all tasks are in
 * callbacks, the call is admitted, so that chains of calls never deadlock.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_CLIENT_ASYNC_H
#define BIGTABLE_CLIENT_ASYNC_H

struct async_pool;
struct loop;
struct world;

#include <stdbool.h>
#include <stddef.h>

#include "base/trace/span.h"

#define ASYNC_TASKS     16
#define ASYNC_FIBERS    256
#define ASYNC_TASKS_MAX 256
#define ASYNC_CALLS     4096
/* Calls that go together, at most, and their bytes. */
#define ASYNC_TOGETHER_MAX       256
#define ASYNC_TOGETHER_BYTES_MAX ((size_t)512 << 10)

struct async_call;

struct async_kind {
    /* Does the work of @first and of those chained behind it, on a task of the
     * pool. Some may ask to be run again, alone. */
    void (*run)(struct async_call *first);
    /* Then, for each: calls back, and frees the call. */
    void (*finish)(struct async_call *call);
    /* May @call, of the same kind, go with @first? NULL: none may. */
    bool (*goes_with)(struct async_call *first, struct async_call *call);
};

/* One call: the first member of what its author allocated. */
struct async_call {
    struct async_call *next;
    const struct async_kind *kind;
    struct trace_context trace; /* In which it was submitted. */
    size_t bytes;               /* About, that it sends. */
    bool again;                 /* Set by run: to be run again, */
    bool alone;                 /* as it was or is to be: alone. */
};

/* @world is borrowed, as is @loop, whose fibers are the tasks unless it is
 * NULL; 0 tasks or calls: the defaults. Owned. */
struct async_pool *async_pool_new(struct world *world,
                                  struct loop *loop,
                                  unsigned task_max,
                                  unsigned call_max);
void async_pool_free(
    struct async_pool *p); /* Drains. NULL is allowed. Parks. */
/* Queue @call; waits while as many as may be are in flight. Parks. */
void async_pool_submit(struct async_pool *p, struct async_call *call);
/* Wait until none is in flight. Parks. */
void async_pool_drain(struct async_pool *p);

#endif /* BIGTABLE_CLIENT_ASYNC_H */

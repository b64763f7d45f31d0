/* Threads that send requests, each with a connection that it keeps; and the
 * budget of their retries: each takes from it, each success adds to it, so that
 * a server that is down is not stormed.
 *
 * Invariants, under the mutex
 *     INV-1. waiting is the number of jobs in the list.
 *     INV-2. thread_count <= connections.
 *
 * Threads: any.
 */
#ifndef BASE_OBJECTS_REQUEST_POOL_H
#define BASE_OBJECTS_REQUEST_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/objects/object_settings.h" /* OBJECT_CONNECTIONS_MAX */
#include "base/runtime/sync.h"

struct object_connection;
struct task;
struct world;

/* The budget of retries: one takes RETRY_COST, a success gives one back. */
#define RETRY_BUDGET 500
#define RETRY_COST   5

/* Work of a thread; the owner's memory, until `run` was called. */
struct request_job {
    struct request_job *next;
    void (*run)(struct object_connection *connection, void *arg);
    void *arg;
};

struct request_pool {
    struct world *world; /* Borrowed. */
    unsigned connections;
    unsigned attempts; /* Of one request. */
    atomic_uint_fast64_t requests;
    atomic_uint_fast64_t retries;
    atomic_bool hurried;
    struct mutex mutex;  /* Of all below. */
    struct cond changed; /* A job came, or stopping, or somebody gives up. */
    struct request_job *first;
    struct request_job **last;
    size_t waiting;
    size_t idle;
    struct task *threads[OBJECT_CONNECTIONS_MAX];
    size_t thread_count;
    bool stopping;
    unsigned budget;
};

/* Threads start as requests pile up. Errors: ERR_UNSUPPORTED (no libcurl). */
MUST_CHECK int request_pool_open(struct request_pool *p,
                                 struct world *w,
                                 unsigned connections,
                                 unsigned attempts,
                                 struct err *err);
/* Parks until requests under way have ended. PRE: nobody waits for one. */
void request_pool_close(struct request_pool *p);
/* Retry nothing any more. */
void request_pool_hurry(struct request_pool *p);

/* Run @j on a thread of the pool; never waits. */
void request_pool_start(struct request_pool *p, struct request_job *j);
/* Run run(connection, arg) on a thread of the pool, and wait for it. Parks. */
void request_pool_run(struct request_pool *p,
                      void (*run)(struct object_connection *c, void *arg),
                      void *arg);

/* Take from the budget, and wait a random time that doubles with @tries, and at
 * least @least_us; false: there is to be no other try, because of the budget,
 * the bound of tries, a hurry, or @stop (NULL: never). Blocks the thread. */
bool request_pool_may_retry(struct request_pool *p,
                            unsigned tries,
                            uint64_t least_us,
                            const atomic_bool *stop);
/* A request succeeded: add to the budget. */
void request_pool_earn(struct request_pool *p);
/* Somebody set a `stop`: those who wait look at it. */
void request_pool_wake(struct request_pool *p);

#endif /* BASE_OBJECTS_REQUEST_POOL_H */

/* An event loop: one thread, its fibers, its timers, its sockets.
 *
 * In the real world a loop is a uv_loop_t; in the simulated one all loops share
 * the one thread and the virtual clock.
 */
#ifndef BASE_RUNTIME_LOOP_H
#define BASE_RUNTIME_LOOP_H

#include <stdbool.h>

#include "base/core/err.h"

struct loop;
struct world;

typedef void (*loop_fn)(void *arg);

/* A loop that runs nothing yet. Owned. */
MUST_CHECK int
loop_new(struct world *w, const char *name, struct loop **out, struct err *err);
/* PRE: it does not run and has no fibers. */
void loop_free(struct loop *l);

/* Run on a thread of its own until loop_stop(); loop_join waits for that. */
void loop_start(struct loop *l);
void loop_join(struct loop *l); /* Parks. */
/* Any thread. Fibers still alive are cancelled and run to their end first. */
void loop_stop(struct loop *l);

/* Call fn(arg) on the loop's thread soon. Any thread; never waits. */
void loop_post(struct loop *l, loop_fn fn, void *arg);
/* Run fn(arg) in a fiber of @l and wait for its end. Parks. Any thread but not
 * a plain callback of @l itself. */
void loop_call(struct loop *l, const char *name, loop_fn fn, void *arg);

/* The loop of the calling thread, or NULL; and the world of a loop.
 * Borrowed. */
struct loop *loop_self(void); /* The loop of this thread, or NULL. */
struct world *loop_world(const struct loop *l);

/* Run fn(arg) on a thread of the pool and park until it has returned: for
 * work that would block the loop. On a plain thread it is a plain call.
 * Parks. */
void offload(loop_fn fn, void *arg);

#endif /* BASE_RUNTIME_LOOP_H */

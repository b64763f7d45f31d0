/* Fibers: sequential code that waits without holding a thread.
 *
 * A loop (loop.h) runs many fibers on one thread, one at a time; a fiber runs
 * until it parks or returns, so what belongs to one loop needs no lock. Stacks
 * are pooled and end in a guard page; the switch is Boost.Context's
 * jump_fcontext (make_fcontext/jump_fcontext, its stable C ABI). Each switch is
 * announced to ASan and TSan.
 *
 * Cancellation and deadlines arrive as ERR_CANCELLED or ERR_DEADLINE from the
 * next parking call that returns an error; code unwinds as from any other.
 *
 * Threads: a fiber never leaves the loop it was started on. Functions are for
 * the loop's own thread unless they say otherwise.
 */
#ifndef BASE_RUNTIME_FIBER_H
#define BASE_RUNTIME_FIBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct fiber;
struct loop;

/* Bytes of a fiber's stack, guard page not counted. Nothing recursive over
 * user input may run on it without a bound. */
#define FIBER_STACK_BYTES ((size_t)256 << 10)

typedef void (*fiber_fn)(void *arg);

/* Start fn(arg) on @loop; it runs for the first time after the caller parks or
 * returns to its loop. From another thread, use loop_post(). The handle stays
 * valid until fiber_join() or fiber_detach(). */
struct fiber *
fiber_start(struct loop *loop, const char *name, fiber_fn fn, void *arg);
/* Have @f freed when it returns; the handle is invalid from now on. */
void fiber_detach(struct fiber *f);
void fiber_join(struct fiber *f); /* Parks until it has returned; frees it. */

/* The running fiber, or NULL on a plain thread. Any thread. */
struct fiber *fiber_self(void);
/* The identity of the caller: its fiber, or a unique address of the plain
 * thread. Any thread. */
const void *fiber_or_thread(void);
/* The name and the loop of @f. Borrowed. Any thread that keeps @f valid. */
const char *fiber_name(const struct fiber *f);
struct loop *fiber_loop(const struct fiber *f);

/* Park until fiber_wake(); returns at once if that was called before. Wakes
 * may be spurious: test the condition again. */
void fiber_park(void);
/* The same until monotonic @mono_ns of the loop's world; false when that time
 * came first. */
bool fiber_park_until(uint64_t mono_ns);
/* The same until the fiber's own deadline or its cancellation, with an error
 * then: for calls that return errors. */
MUST_CHECK int fiber_park_checked(struct err *err);
/* Make a parked fiber run again. Any thread. The fiber must not have
 * returned; callers find it on a list that it put itself on. */
void fiber_wake(struct fiber *f);
/* Let the other fibers that are ready run first. Parks. */
void fiber_yield(void);

/* Request that @f stop: its parking calls fail with ERR_CANCELLED. Any
 * thread. */
void fiber_cancel(struct fiber *f);
/* Deadline of the running fiber in monotonic ns, 0 for none; returns the old
 * one, so that scopes nest. */
uint64_t fiber_set_deadline(uint64_t mono_ns);
uint64_t fiber_deadline(void); /* 0: none, also on a plain thread. */
/* 0, ERR_CANCELLED or ERR_DEADLINE. On a plain thread always 0. */
MUST_CHECK int fiber_check(struct err *err);

/* A pointer that belongs to the running fiber, or to the plain thread;
 * base/trace keeps the running work's place in a trace there. NULL at first.
 * Setting returns the old one. Functions that loop_call() and offload() run
 * have that of their caller, who waits for them. Any thread. */
void *fiber_context(void);
void *fiber_set_context(void *context);

/* One line per live fiber of @loop: name, state, age, where it waits. */
struct buf;
void fiber_dump(struct loop *loop, struct buf *out);

#endif /* BASE_RUNTIME_FIBER_H */

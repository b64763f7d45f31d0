/* The real world's loop, for code that puts handles on it. Private to
 * world_uv_loop.c and world_uv_stream.c, the two files that see uv.h. */
#ifndef BASE_RUNTIME_WORLD_UV_LOOP_H
#define BASE_RUNTIME_WORLD_UV_LOOP_H

#include <uv.h>

#include "base/runtime/busy_poll.h"
#include "base/runtime/fiber_loop.h"
#include "base/runtime/world_uv.h"

struct uv_loop {
    struct loop base;
    uv_loop_t uv;
    uv_poll_t wake;  /* On wake_fd: ends uv's sleep. */
    uv_poll_t timer; /* On timer_fd. */
    int timer_fd;
    int wake_fd; /* An eventfd. uv_async would do the same, but its receiver
                    spins while a sender that was preempted has not finished. */
    uint64_t armed_ns;   /* When timer_fd fires; UINT64_MAX: never. */
    struct fiber *ready; /* Oldest READY fiber. */
    struct fiber **ready_end;
    struct busy_poll busy_poll;
    atomic_bool asleep;  /* A poster must write to wake_fd. */
    struct task *thread; /* Of loop_start(). */
};

/* PRE: @l is a loop of the real world. */
struct uv_loop *uv_loop_of(struct loop *l);

#endif /* BASE_RUNTIME_WORLD_UV_LOOP_H */

/* The real world's loop, for those who put handles on it. Private to
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
    uint64_t armed_ns;   /* What timer_fd is set to; UINT64_MAX: nothing. */
    struct fiber *ready; /* Oldest READY fiber. */
    struct fiber **ready_end;
    struct busy_poll busy_poll;
    atomic_bool asleep;  /* It needs a write to wake_fd to look at posts. */
    struct task *thread; /* Of loop_start(). */
};

struct uv_loop *uv_loop_of(struct loop *l);

#endif /* BASE_RUNTIME_WORLD_UV_LOOP_H */

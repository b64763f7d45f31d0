/* The real world's loop, for those who put handles on it. Private to
 * world_uv_loop.c and world_uv_stream.c, the two files that see uv.h. */
#ifndef BASE_RUNTIME_WORLD_UV_LOOP_H
#define BASE_RUNTIME_WORLD_UV_LOOP_H

#include <uv.h>

#include "base/runtime/fiber_loop.h"
#include "base/runtime/world_uv.h"

struct uv_loop {
    struct loop base;
    uv_loop_t uv;
    uv_async_t async; /* Ends uv's sleep. */
    uv_poll_t timer;  /* On timer_fd. */
    int timer_fd;
    uint64_t armed_ns;   /* What timer_fd is set to; UINT64_MAX: nothing. */
    struct fiber *ready; /* Oldest READY fiber. */
    struct fiber **ready_end;
    atomic_bool asleep;  /* It needs uv_async_send() to look at posts. */
    struct task *thread; /* Of loop_start(). */
};

struct uv_loop *uv_loop_of(struct loop *l);

#endif /* BASE_RUNTIME_WORLD_UV_LOOP_H */

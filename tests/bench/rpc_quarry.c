/* Echo over base/rpc: small messages in the body, large ones attached. With
 * QUARRY_BENCH_TRACER both sides record spans, as `quarry server` does; with
 * QUARRY_BENCH_SLEEP waiting threads sleep at once instead of polling, so that
 * instructions can be counted. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/busy_poll.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/trace/tracer.h"
#include "tests/bench/rpc.h"

#define ATTACHED_BYTES 4096

enum {
    ECHO = 1
};

static struct bench_rpc bench;
static struct world *world;
static char address[64];
static uint64_t left;

static int echo(void *ctx, struct rpc_call *call, struct err *err)
{
    (void)ctx;
    (void)err;
    buf_append_slice(call->reply_body, call->body);
    buf_append_slice(call->reply_attachment, call->attachment);
    return 0;
}

static void serve(void *arg)
{
    static const struct rpc_method method = {ECHO, "echo", echo, 0};
    struct rpc_server *s = rpc_server_new(world);
    struct rpc_listener *l;
    struct err err = ERR_INIT;
    rpc_server_add(s, &method, 1, NULL);
    if (rpc_listen(s, "127.0.0.1:0", NULL, &l, &err))
        PANIC("%s", err.text);
    dprintf(*(int *)arg, "%s\n", rpc_listener_address(l));
    close(*(int *)arg);
    for (;;)
        fiber_park();
}

static void call_on(void *arg)
{
    struct rpc_channel *c = arg;
    char *data = mem_zalloc(1, bench.bytes);
    char *room = mem_alloc(bench.bytes);
    struct err err = ERR_INIT;
    struct buf reply = BUF_INIT;
    while (left) {
        struct rpc_sink into = {.data = room, .cap = bench.bytes};
        struct rpc_call_options o = {.into = &into};
        bool small = bench.bytes < ATTACHED_BYTES;
        struct slice bytes = slice_make(data, bench.bytes);
        left--;
        buf_clear(&reply);
        if (rpc_call(c, ECHO, small ? NULL : &o, small ? bytes : SLICE_EMPTY,
                     small ? SLICE_EMPTY : bytes, &reply, NULL, &err))
            PANIC("%s", err.text);
        if ((small ? reply.len : into.len) != bench.bytes)
            PANIC("a short answer");
    }
    buf_close(&reply);
    mem_free(data);
    mem_free(room);
}

static void call_all(void *arg)
{
    struct fiber **f = mem_zalloc(bench.in_flight, sizeof(*f));
    struct rpc_channel *c = rpc_channel_new(address, NULL);
    (void)arg;
    left = 1;
    call_on(c); /* Connects. */
    left = bench.calls;
    bench_rpc_begin(&bench);
    for (size_t i = 0; i < bench.in_flight; i++)
        f[i] = fiber_start(loop_self(), "caller", call_on, c);
    for (size_t i = 0; i < bench.in_flight; i++)
        fiber_join(f[i]);
    rpc_channel_free(c);
    mem_free(f);
}

static void run_loop(task_fn fn, void *arg)
{
    struct err err = ERR_INIT;
    struct tracer *tracer = NULL;
    struct loop *l;
    world = world_real_new();
    if (getenv("QUARRY_BENCH_SLEEP"))
        busy_poll_set_us(0);
    if (getenv("QUARRY_BENCH_TRACER")) {
        tracer = tracer_new(world, TRACE_BYTES_DEFAULT);
        world_set_tracer(world, tracer);
    }
    if (loop_new(world, "bench", &l, &err))
        PANIC("%s", err.text);
    loop_start(l);
    loop_call(l, "bench", fn, arg);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    tracer_free(tracer);
    world_free(world);
}

int main(int argc, char **argv)
{
    int fds[2];
    pid_t server;
    ssize_t n;
    bench_rpc_parse(&bench, argc, argv);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* As `quarry server` does. */
    mallopt(M_TRIM_THRESHOLD, 128 << 20);
    if (pipe(fds) < 0)
        return 1;
    server = fork();
    if (server == 0) {
        signal(SIGTERM, _exit);
        run_loop(serve, &fds[1]);
    }
    close(fds[1]);
    n = read(fds[0], address, sizeof(address) - 1);
    if (n <= 1)
        return 1;
    address[n - 1] = '\0';
    run_loop(call_all, NULL);
    bench_rpc_end(&bench, server);
    return 0;
}

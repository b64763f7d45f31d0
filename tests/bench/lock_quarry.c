/* Our side: base/replica at its default settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/replica/replica.h"
#include "base/rpc/remote.h"
#include "base/runtime/busy_poll.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "tests/bench/lock.h"

#define PORT 29150

struct member {
    const struct bench_cell *cell;
    struct world *world;
    struct replica *replica;
    unsigned id;
    uint64_t applied;
};

static void
apply(void *ctx, uint64_t index, struct slice command, struct buf *reply)
{
    struct member *m = ctx;
    (void)index;
    (void)command;
    (void)reply;
    m->applied++;
}

static void save(void *ctx, struct buf *out)
{
    struct member *m = ctx;
    buf_append(out, &m->applied, sizeof(m->applied));
}

static int load(void *ctx, struct slice image, struct err *err)
{
    struct member *m = ctx;
    (void)err;
    if (image.len == sizeof(m->applied))
        memcpy(&m->applied, image.data, image.len);
    return 0;
}

static void run_client(void *arg)
{
    struct member *m = arg;
    char command[BENCH_COMMAND_BYTES] = {0};
    while (bench_continues(m->cell)) {
        double from = bench_now();
        if (replica_propose(m->replica, slice_make(command, sizeof(command)),
                            NULL, NULL) == 0)
            bench_commit((bench_now() - from) * 1e6);
        else
            world_sleep_us(m->world, 1000);
    }
}

static void run_teller(void *arg)
{
    struct member *m = arg;
    char command[BENCH_COMMAND_BYTES] = {0};
    while (replica_propose(m->replica, slice_make(command, sizeof(command)),
                           NULL, NULL))
        world_sleep_us(m->world, 1000);
    bench_report_leader(m->cell);
}

static void lead(void *ctx, bool leading, uint64_t term)
{
    struct member *m = ctx;
    unsigned count = m->cell->in_flight;
    (void)term;
    if (!leading)
        return;
    if (count == 0)
        fiber_detach(fiber_start(loop_self(), "teller", run_teller, m));
    for (unsigned i = 0; i < count; i++)
        fiber_detach(fiber_start(loop_self(), "client", run_client, m));
}

static void serve(void *arg)
{
    struct member *m = arg;
    struct replica_member cell[BENCH_MEMBERS];
    char addresses[BENCH_MEMBERS][32];
    char directory[512];
    struct err err = ERR_INIT;
    struct rpc_server *server = rpc_server_new(m->world);
    struct rpc_listener *listener;
    struct replica_machine machine = {m, apply, save, load, lead};
    struct replica_options opts = {.name = "bench",
                                   .directory = directory,
                                   .id = m->id,
                                   .members = cell,
                                   .member_count = BENCH_MEMBERS};
    snprintf(directory, sizeof(directory), "%s/%u", m->cell->directory, m->id);
    for (unsigned i = 0; i < BENCH_MEMBERS; i++) {
        snprintf(addresses[i], sizeof(addresses[i]), "127.0.0.1:%u", PORT + i);
        cell[i] = (struct replica_member){i + 1, addresses[i], true};
    }
    if (replica_open(m->world, server, &machine, &opts, &m->replica, &err) ||
        rpc_listen(server, addresses[m->id - 1], NULL, &listener, &err))
        PANIC("%s", err.text);
    for (;;)
        fiber_park();
}

void bench_serve(const struct bench_cell *c, unsigned id)
{
    struct member m = {.cell = c, .world = world_real_new(), .id = id};
    struct loop *l;
    struct err err = ERR_INIT;
    if (getenv("BUSY_POLL_US"))
        busy_poll_set_us(strtoul(getenv("BUSY_POLL_US"), NULL, 10));
    if (loop_new(m.world, "bench", &l, &err))
        PANIC("%s", err.text);
    loop_start(l);
    loop_call(l, "serve", serve, &m);
}

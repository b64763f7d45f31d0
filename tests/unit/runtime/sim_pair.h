/* Two simulated machines, an echo server for them, and a director: what the
 * tests of the cluster and of its network share. */
#ifndef TESTS_UNIT_RUNTIME_SIM_PAIR_H
#define TESTS_UNIT_RUNTIME_SIM_PAIR_H

#include <stdint.h>

#include "base/core/macros.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/stream.h"
#include "base/runtime/world.h"
#include "base/sim/sim_cluster.h"
#include "tests/lib/check_main.h"

/* One thread runs the simulation: there is nothing for ThreadSanitizer to find,
 * which is slow with fibers. */
#ifdef __SANITIZE_THREAD__
#define SEEDS 1
#else
#define SEEDS 10
#endif

/* --- Fixture ------------------------------------------------------------- */

enum {
    SECOND = 1000000
};

static struct sim_cluster *cluster;
UNUSED static struct world *a;
UNUSED static struct world *b;

UNUSED static void start(uint64_t seed)
{
    struct sim_options o = {.network_us = 200, .sync_us = 500};
    cluster = sim_cluster_new(seed);
    a = sim_machine_new(cluster, "a", &o);
    b = sim_machine_new(cluster, "b", &o);
}

UNUSED static void everywhere(task_fn scenario)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        start(seed);
        sim_cluster_run(cluster, scenario, NULL);
        sim_cluster_free(cluster);
    }
}

UNUSED static struct world *here(void)
{
    return loop_world(loop_self());
}

/* An echo server at port 7 of its machine. */

UNUSED static void echo_one(void *arg)
{
    struct stream *s = arg;
    char p[1000];
    size_t got;
    while (stream_read(s, p, sizeof(p), &got, NULL) == 0 && got) {
        struct slice part = slice_make(p, got);
        if (stream_write(s, &part, 1, NULL))
            break;
    }
    stream_close(s);
}

UNUSED static UNUSED int echoes_running;

UNUSED static void echo_accept(void *arg)
{
    struct stream *s;
    while (stream_accept(arg, &s, NULL) == 0)
        fiber_detach(fiber_start(loop_self(), "echo", echo_one, s));
}

UNUSED static void echo_server(void *arg)
{
    struct stream_listener *l;
    struct err err = ERR_INIT;
    struct fiber *f;
    (void)arg;
    if (stream_listen("0.0.0.0:7", &l, &err) == ERR_CANCELLED)
        return;
    ck_assert_msg(err.code == 0, "%s", err.text);
    f = fiber_start(loop_self(), "accept", echo_accept, l);
    echoes_running++;
    while (fiber_check(NULL) == 0)
        if (fiber_park_checked(NULL))
            break;
    echoes_running--;
    stream_listener_close(l);
    fiber_join(f);
}

UNUSED static int say(struct stream *s, char what, struct err *err)
{
    struct slice part = slice_make(&what, 1);
    char back = 0;
    int rc = stream_write(s, &part, 1, err);
    if (rc == 0)
        rc = stream_read_full(s, &back, 1, err);
    if (rc == 0)
        ck_assert_int_eq(back, what);
    return rc;
}

UNUSED static struct stream *must_connect(const char *to)
{
    struct err err = ERR_INIT;
    struct stream *s;
    ck_assert_msg(stream_connect(to, &s, &err) == 0, "%s", err.text);
    return s;
}

UNUSED static struct file *must_open(struct world *w, const char *path)
{
    struct err err = ERR_INIT;
    struct file *f;
    ck_assert_msg(
        file_open(w, path, FILE_READ | FILE_WRITE | FILE_CREATE, &f, &err) == 0,
        "%s", err.text);
    return f;
}

#endif /* TESTS_UNIT_RUNTIME_SIM_PAIR_H */

/* A storm's clients, and its failure. */
#include "tests/sim/storm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

/* Lines of the trace that a failure shows; more with QUARRY_SIM_LINES, and all
 * fibers with QUARRY_SIM_FIBERS. */
#define LINES_DEFAULT 60
/* Clients end within so much virtual time, or never. */
#define END_US (400 * SECOND_US)

struct storm *storm_running;

/* --- failing ------------------------------------------------------------- */

static void print_trace(const struct storm *s)
{
    const char *more = getenv("QUARRY_SIM_LINES");
    struct buf b = BUF_INIT;
    sim_cluster_trace_print(
        s->sim, more ? strtoull(more, NULL, 10) : LINES_DEFAULT, &b);
    if (getenv("QUARRY_SIM_FIBERS"))
        sim_cluster_fibers_print(s->sim, &b);
    fprintf(stderr, "%s", buf_cstr(&b));
    buf_close(&b);
}

void storm_fail(const char *fmt, ...)
{
    const struct storm *s = storm_running;
    va_list ap;
    if (s)
        print_trace(s);
    fflush(stdout);
    va_start(ap, fmt);
    fprintf(stderr, "quarry-sim: ");
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    if (s)
        fprintf(stderr,
                "quarry-sim: at event %" PRIu64 ", %" PRIu64 " us; again with\n"
                "    quarry-sim --scenario %s --seed %" PRIu64 " --trace\n",
                sim_cluster_event_count(s->sim), sim_cluster_now_us(s->sim),
                s->scenario, s->seed);
    fflush(stderr);
    _Exit(1);
}

uint64_t storm_now_us(void)
{
    return sim_cluster_now_us(storm_running->sim);
}

void storm_sleep_us(uint64_t us)
{
    world_sleep_us(loop_world(loop_self()), us);
}

/* --- clients ------------------------------------------------------------- */

static void run_client(void *arg)
{
    struct storm_client *c = arg;
    c->lives++;
    c->work(c);
    /* It would be booted again at once otherwise, only to end. */
    while (!c->storm->over && fiber_check(NULL) == 0)
        world_sleep_us(c->world, SECOND_US);
}

struct storm_client *storm_add_client(struct storm *s,
                                      const char *name,
                                      void (*work)(struct storm_client *c),
                                      void *ctx)
{
    static const struct sim_options machine = {
        .network_us = 300, .sync_us = 500, .write_us = 50, .read_us = 50};
    struct storm_client *c = &s->clients[s->client_count];
    PRE(s->client_count < STORM_CLIENTS_MAX);
    *c = (struct storm_client){.storm = s,
                               .number = (unsigned)++s->client_count,
                               .work = work,
                               .ctx = ctx};
    rand_init(&c->rand, s->seed * STORM_CLIENTS_MAX + c->number);
    c->world = sim_machine_new(s->sim, name, &machine);
    sim_boot(c->world, run_client, c);
    return c;
}

bool storm_goes_on(struct storm_client *c)
{
    return !c->storm->over && fiber_check(NULL) == 0;
}

size_t storm_client_machines(const struct storm *s,
                             struct world *out[STORM_CLIENTS_MAX])
{
    for (size_t i = 0; i < s->client_count; i++)
        out[i] = s->clients[i].world;
    return s->client_count;
}

void storm_end(struct storm *s)
{
    uint64_t until = storm_now_us() + END_US;
    s->over = true;
    for (size_t i = 0; i < s->client_count; i++)
        while (sim_is_up(s->clients[i].world)) {
            STORM_CHECK(storm_now_us() < until, "%s does not end",
                        sim_machine_name(s->clients[i].world));
            storm_sleep_us(SECOND_US / 10);
        }
}

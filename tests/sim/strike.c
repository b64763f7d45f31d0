/* Nemeses, kind by kind. */
#include "tests/sim/strike.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"

struct nemesis_run {
    struct sim_cluster *sim;
    struct nemesis_options options;
    struct nemesis_report report;
};

struct strike_group *strike_add(struct strike *s,
                                struct world *const *machines,
                                size_t count,
                                size_t down_max)
{
    struct strike_group *g = &s->groups[s->group_count++];
    PRE(s->group_count <= STRIKE_GROUPS_MAX);
    PRE(s->machine_count + count <= STRIKE_MACHINES_MAX);
    *g = (struct strike_group){
        .first = s->machine_count, .count = count, .down_max = down_max};
    for (size_t i = 0; i < count; i++)
        s->machines[s->machine_count++] = machines[i];
    return g;
}

/* Clocks jump by seconds, in some seeds by most of a day. */
#define FAR_US ((int64_t)20 * 3600 * 1000000)

/* Most seeds have a few kinds of faults, some have all. */
static void draw_weights(struct nemesis_options *o, struct rand_gen *r)
{
    uint64_t keep = 1 + rand_below(r, 4); /* Of four. */
    bool any = false;
    o->weighted = true;
    for (int f = 0; f < NEMESIS_FAULT_COUNT; f++) {
        uint32_t weight = nemesis_default_weight((enum nemesis_fault)f);
        if (f == NEMESIS_ROT && o->rot_prefix)
            weight = 2;
        o->weights[f] = rand_below(r, 4) < keep ? weight : 0;
        any |= o->weights[f] > 0;
    }
    if (!any)
        o->weighted = false;
}

static void take_clocks(struct nemesis_options *o)
{
    o->weighted = true;
    o->weights[NEMESIS_CLOCK] = 4;
    o->weights[NEMESIS_KILL] = 2;
    o->offset_us_max = FAR_US;
}

static void prepare(struct nemesis_run *n,
                    const struct strike *s,
                    const struct strike_group *g)
{
    struct rand_gen *r = &s->storm->rand;
    n->sim = s->storm->sim;
    n->options = (struct nemesis_options){
        .seed = rand_u64(r),
        .machines = s->machines + g->first,
        .machine_count = g->count,
        .others = s->machines,
        .other_count = s->machine_count,
        .duration_us = s->duration_us,
        .pause_us = SECOND_US / 2 + rand_below(r, 4 * SECOND_US),
        .fault_us = SECOND_US + rand_below(r, 4 * SECOND_US),
        .down_max = g->down_max,
        .rot_prefix = g->rot_prefix,
        .allow = g->allow,
        .ctx = g->ctx};
    if (rand_one_in(r, 3))
        n->options.offset_us_max = FAR_US;
    draw_weights(&n->options, r);
    if (g->clock_us_max)
        n->options.offset_us_max =
            MIN_OF(n->options.offset_us_max, g->clock_us_max);
    if (g->clocks_only) {
        memset(n->options.weights, 0, sizeof(n->options.weights));
        take_clocks(&n->options);
    }
}

static void run_nemesis(void *arg)
{
    struct nemesis_run *n = arg;
    nemesis_run(n->sim, &n->options, &n->report);
}

/* A machine that is crashed, or asked to end, ends within so much time. */
#define END_US (120 * SECOND_US)

struct guard {
    uint64_t until_us;
    bool over;
};

static void guard(void *arg)
{
    struct guard *g = arg;
    while (!g->over) {
        STORM_CHECK(storm_now_us() < g->until_us,
                    "a machine was crashed or stopped, and does not end");
        storm_sleep_us(SECOND_US);
    }
}

uint64_t strike_run(struct strike *s)
{
    struct guard g = {.until_us = storm_now_us() + s->duration_us + END_US};
    struct fiber *guardian = fiber_start(loop_self(), "guard", guard, &g);
    struct nemesis_run *n = mem_zalloc(STRIKE_GROUPS_MAX, sizeof(*n));
    struct fiber *fibers[STRIKE_GROUPS_MAX];
    uint64_t faults = 0;
    for (size_t i = 0; i < s->group_count; i++)
        prepare(&n[i], s, &s->groups[i]);
    for (size_t i = 0; i < s->group_count; i++)
        fibers[i] = fiber_start(loop_self(), "nemesis", run_nemesis, &n[i]);
    for (size_t i = 0; i < s->group_count; i++) {
        fiber_join(fibers[i]);
        for (int f = 0; f < NEMESIS_FAULT_COUNT; f++)
            faults += n[i].report.counts[f];
    }
    mem_free(n);
    g.over = true;
    fiber_join(guardian);
    return faults;
}

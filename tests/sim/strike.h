/* The faults of a storm: one nemesis for each kind of machine, all at once.
 *
 *     struct strike s = {.storm = storm, .duration_us = 30 * SECOND_US};
 *     group = strike_add(&s, machines, count, down_max);
 *     group->rot_prefix = "/chunks";
 *     faults = strike_run(&s);
 *
 * So each kind keeps as many machines in service as it promises to need. Which
 * faults there are, and how often, is drawn for every seed and kind: a storm of
 * everything hides what a storm of losses of power alone would show.
 *
 * Threads: one; on the director.
 */
#ifndef TESTS_SIM_STRIKE_H
#define TESTS_SIM_STRIKE_H

#include "base/sim/sim_nemesis.h"
#include "tests/sim/storm.h"

#define STRIKE_MACHINES_MAX 80
#define STRIKE_GROUPS_MAX   8

struct strike_group {
    size_t first; /* Of its machines. */
    size_t count;
    size_t down_max;        /* As in struct nemesis_options, */
    const char *rot_prefix; /* as these are. */
    bool
        clocks_only; /* Far jumps of clocks, and ends of programs; no others. */
    int64_t clock_us_max; /* No clock jumps further; 0: as the seed says. */
    bool (*allow)(void *ctx, enum nemesis_fault f, struct world *m);
    void *ctx;
};

struct strike {
    struct storm *storm;
    uint64_t duration_us;
    struct world *machines[STRIKE_MACHINES_MAX];
    size_t machine_count;
    struct strike_group groups[STRIKE_GROUPS_MAX];
    size_t group_count;
};

/* A kind of machines, of which @down_max may be out of service. Borrowed until
 * the next. */
struct strike_group *strike_add(struct strike *s,
                                struct world *const *machines,
                                size_t count,
                                size_t down_max);
/* Returns how many faults there were. Parks until all is healed. */
uint64_t strike_run(struct strike *s);

#endif /* TESTS_SIM_STRIKE_H */

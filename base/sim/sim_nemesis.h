/* A nemesis: faults on the machines of a simulated cluster, drawn from a seed.
 *
 *     nemesis_run(c, &(struct nemesis_options){
 *         .seed = seed, .machines = servers, .machine_count = 5,
 *         .duration_us = 60 * 1000000, .down_max = 2}, &report);
 *
 * Faults begin at random intervals, each on one machine or link, and last a
 * while; several may overlap. At the end everything is healed: links, disks and
 * clocks are reset, machines resumed and booted. A program that ended by itself
 * (after a disk error, say) is booted after a second, as a supervisor would.
 *
 * Threads: one; on a fiber of the director.
 */
#ifndef BASE_SIM_SIM_NEMESIS_H
#define BASE_SIM_SIM_NEMESIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sim/sim_cluster.h"

/* name, default weight, whether it counts for down_max, text */
#define NEMESIS_FAULTS(X)                                                      \
    X(POWER, 8, true, "power loss")                                            \
    X(KILL, 8, true, "kill -9")                                                \
    X(RESTART, 4, true, "orderly restart")                                     \
    X(PAUSE, 6, true, "pause")                                                 \
    X(ISOLATE, 6, true, "cut off, both ways")                                  \
    X(SPLIT, 4, true, "cut off from its peers")                                \
    X(DEAF, 4, true, "cut off, inbound")                                       \
    X(MUTE, 4, true, "cut off, outbound")                                      \
    X(CUT, 6, false, "one link cut, one way")                                  \
    X(SLOW_NET, 4, false, "slow network")                                      \
    X(LOSSY_NET, 4, false, "lossy network")                                    \
    X(RESETS, 4, false, "connections reset")                                   \
    X(LOST_ANSWERS, 6, false, "answers lost")                                  \
    X(SLOW_DISK, 4, false, "slow disk")                                        \
    X(FULL_DISK, 2, true, "full disk")                                         \
    X(DISK_ERRORS, 2, true, "disk errors")                                     \
    X(ROT, 0, false, "bit rot")                                                \
    X(CLOCK, 3, false, "clock jumps and drifts")

enum nemesis_fault {
#define X(name, weight, down, text) NEMESIS_##name,
    NEMESIS_FAULTS(X)
#undef X
    NEMESIS_FAULT_COUNT
};

/* Zeros give the defaults. */
struct nemesis_options {
    uint64_t seed;
    struct world *const *machines; /* The victims; borrowed. All are running. */
    size_t machine_count;
    /* Further far ends of links: clients, servers of other kinds. They are
     * never victims. Borrowed. */
    struct world *const *others;
    size_t other_count;
    uint64_t duration_us; /* How long faults begin; default 60 s. */
    uint64_t pause_us;    /* Mean time between beginnings; default 2 s. */
    uint64_t fault_us;    /* Mean length of a fault; default 3 s. */
    size_t down_max;      /* Machines that are out of service at once at most
                             (see the list above); 0: a minority. */
    bool weighted;        /* Take the weights below instead of the default. */
    uint32_t weights[NEMESIS_FAULT_COUNT];
    const char *rot_prefix; /* Files that may rot; needed for NEMESIS_ROT. */
    int32_t drift_ppm_max;  /* Of clocks; default 200. */
    int64_t offset_us_max;  /* Jumps of wall clocks; default 10 s. */
    /* True if fault @f may begin on @m; it then begins at once. NULL:
     * always. */
    bool (*allow)(void *ctx, enum nemesis_fault f, struct world *m);
    void *ctx;
};

struct nemesis_report {
    uint64_t counts[NEMESIS_FAULT_COUNT]; /* Faults begun. */
    uint64_t revived_count; /* Programs that had ended by themselves. */
};

/* Run the schedule. Parks until the last fault is over and all is healed.
 * @report may be NULL. */
void nemesis_run(struct sim_cluster *c,
                 const struct nemesis_options *o,
                 struct nemesis_report *report);

/* The text and the default weight in the list above. */
const char *nemesis_fault_name(enum nemesis_fault f);
uint32_t nemesis_default_weight(enum nemesis_fault f);

#endif /* BASE_SIM_SIM_NEMESIS_H */

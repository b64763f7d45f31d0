/* The scenarios of quarry-sim: each is a cluster, a workload, faults and
 * checks, all drawn from one seed.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include <stdint.h>

struct buf;
struct storm;

struct scenario {
    const char *name;
    const char *what; /* One line for people. */
    /* All of it, on the director of s->sim: set up, storm, checks; nothing runs
     * any more when it returns. Fails by storm_fail(). Appends figures for
     * people: " name=value". */
    void (*run)(struct storm *s, struct buf *figures);
};

extern const struct scenario scenario_cell;  /* Everything at once. */
extern const struct scenario scenario_lock;  /* The lock service alone. */
extern const struct scenario scenario_files; /* The file system alone. */
extern const struct scenario scenario_replica;
extern const struct scenario scenario_members;
extern const struct scenario scenario_tables; /* The whole, with tables. */
extern const struct scenario scenario_clocks; /* Of those, clocks jump. */
extern const struct scenario scenario_jobs;
extern const struct scenario scenario_transactions;
extern const struct scenario scenario_views;
extern const struct scenario scenario_observers; /* With indexes. */
extern const struct scenario scenario_changes;
extern const struct scenario scenario_replication;

#endif /* TESTS_SIM_SCENARIO_H */

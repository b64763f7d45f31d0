/* Clients of the lock service in a storm: they create, read, write and delete
 * small files through cached handles, and take locks, under whose sequencers
 * they write to a fenced store, in time and too late; and the judgement over
 * what they were told.
 *
 *     struct lock_storm *l = lock_storm_new(storm, cell, 4);
 *     … nemeses …
 *     storm_end(storm);
 *     lock_storm_finish(l);        // reads all once more; stops the store
 *     … the simulation ends …
 *     lock_storm_check(l);         // fails the storm
 *     lock_storm_free(l);
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_LOCK_STORM_H
#define TESTS_SIM_LOCK_STORM_H

#include "tests/sim/cell.h"
#include "tests/sim/storm.h"

struct lock_storm;

/* On the director; @clients machines of their own are booted. Owned. */
struct lock_storm *
lock_storm_new(struct storm *s, struct sim_cell *cell, unsigned clients);
/* On the director. Parks. The service answers within a minute, or the storm
 * fails. */
void lock_storm_finish(struct lock_storm *l);
void lock_storm_check(const struct lock_storm *l);
void lock_storm_free(struct lock_storm *l);

#endif /* TESTS_SIM_LOCK_STORM_H */

/* Clients of the file system's names in a storm: they make, list, look at, move
 * and remove files and directories, and take snapshots, in a few directories
 * that all share; and the judgement over what they were told.
 *
 * Used as lock_storm.h. Threads: one.
 */
#ifndef TESTS_SIM_NAME_STORM_H
#define TESTS_SIM_NAME_STORM_H

#include "tests/sim/cell.h"
#include "tests/sim/storm.h"

struct name_storm;

/* On the director; @clients machines of their own are booted. Owned. */
struct name_storm *
name_storm_new(struct storm *s, struct sim_cell *cell, unsigned clients);
/* On the director: list and look at all once more. Parks. */
void name_storm_finish(struct name_storm *n);
void name_storm_check(const struct name_storm *n);
void name_storm_free(struct name_storm *n);

#endif /* TESTS_SIM_NAME_STORM_H */

/* Is the file system whole again once it is left alone, and has it no more
 * than it should?
 *
 * Threads: one; on the director.
 */
#ifndef TESTS_SIM_CELL_HEALTH_H
#define TESTS_SIM_CELL_HEALTH_H

#include "tests/sim/cell.h"

/* Wait until the namenodes serve, no file is open and every chunk has its
 * copies, and say after how many virtual µs that was. Fails the storm when it
 * takes longer than @bound_us. Parks. */
uint64_t cell_await_whole(struct sim_cell *cell, uint64_t bound_us);

/* The lock servers and the namenodes have a leader within @bound_us, and
 * another when it and as many more as they can lose stand still; else the storm
 * fails. PRE: no more faults are to come. Parks. */
void cell_check_leaders(struct sim_cell *cell, uint64_t bound_us);

/* Wait until what lies on the chunk servers' disks is what the files consist
 * of, each chunk as often as its file wishes, and nothing else. Fails the storm
 * when it takes longer than @bound_us. Parks. */
void cell_await_no_leak(struct sim_cell *cell, uint64_t bound_us);

#endif /* TESTS_SIM_CELL_HEALTH_H */

/* Is what METADATA says so, once the tables are left alone, and is there no
 * file that nobody needs?
 *
 * Threads: one; on the director.
 */
#ifndef TESTS_SIM_TABLES_HEALTH_H
#define TESTS_SIM_TABLES_HEALTH_H

#include "tests/sim/tables_cell.h"

/* Wait until each row of METADATA is true: its tablet is served by the server
 * it names, in that epoch, with those rows; the tablets of each table of the
 * lock service follow each other without a gap, and nothing else is served.
 * Says after how many virtual µs that was. Fails the storm when it takes longer
 * than @bound_us. Parks. */
uint64_t tables_await_true(struct tables_cell *t, uint64_t bound_us);

/* Wait until the file system has no SSTable and no log that neither a tablet
 * nor a server that lives needs. Fails the storm when it takes longer. Parks.
 */
void tables_await_no_orphan(struct tables_cell *t, uint64_t bound_us);

#endif /* TESTS_SIM_TABLES_HEALTH_H */

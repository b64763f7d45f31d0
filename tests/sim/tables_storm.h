/* Clients of tables in a storm: users of shared rows, whose answers must have
 * an order; a loader that fills a table with rows that must all be there; and
 * an administrator who makes, alters, splits, compacts and drops tables.
 *
 * Used as lock_storm.h. Threads: one.
 */
#ifndef TESTS_SIM_TABLES_STORM_H
#define TESTS_SIM_TABLES_STORM_H

#include "tests/sim/storm.h"
#include "tests/sim/tables_cell.h"

struct tables_storm;

/* On the director, when the tables' servers run: makes the tables, and boots
 * machines: @users, a loader, an administrator. Owned. */
struct tables_storm *
tables_storm_new(struct storm *s, struct tables_cell *t, unsigned users);
/* On the director, once all is served: every row is read, by a client that
 * nothing befalls. Parks. */
void tables_storm_finish(struct tables_storm *t);
/* Judge the answers. Fails the storm. */
void tables_storm_check(const struct tables_storm *t);
/* Rows that were loaded, bytes of them. */
uint64_t tables_storm_loaded(const struct tables_storm *t);
void tables_storm_free(struct tables_storm *t);

#endif /* TESTS_SIM_TABLES_STORM_H */

/* Principals beside the cluster's own: one who may read a table, and always
 * finds its rows; one who may not, and never sees any of them, by whatever
 * call, while servers die and tablets move; and one who might and may not any
 * more.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TABLES_SPY_H
#define TESTS_SIM_TABLES_SPY_H

#include "tests/sim/storm.h"
#include "tests/sim/tables_cell.h"

struct quarry;
struct tables_spy;

struct tables_spy *tables_spy_new(struct tables_cell *t); /* Owned. */
/* On the director: make the table, its rows and its list. Fails the storm.
 * Parks. */
void tables_spy_prepare(struct tables_spy *s, struct quarry *q);
/* For storm_add_client(), with the spy as its ctx. */
void tables_spy_work(struct storm_client *c);
/* After the storm: a right that was taken away is gone. Parks. */
void tables_spy_finish(struct tables_spy *s, struct quarry *q);
void tables_spy_free(struct tables_spy *s);

#endif /* TESTS_SIM_TABLES_SPY_H */

/* A loader: batches of rows that are written once, each with a content of its
 * own, so that tablets grow, are compacted and split; every row that was
 * acknowledged must be there.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TABLES_LOAD_H
#define TESTS_SIM_TABLES_LOAD_H

#include "tests/sim/storm.h"
#include "tests/sim/tables_cell.h"

struct quarry;
struct tables_load;

struct tables_load *tables_load_new(struct tables_cell *t); /* Owned. */
/* On the director: make the table. Fails the storm. Parks. */
void tables_load_prepare(struct tables_load *l, struct quarry *q);
/* For storm_add_client(), with the loader as its ctx. */
void tables_load_work(struct storm_client *c);
/* Scan all, and compare. Parks. */
void tables_load_finish(struct tables_load *l, struct quarry *q);
/* Rows that were acknowledged. */
uint64_t tables_load_count(const struct tables_load *l);
void tables_load_free(struct tables_load *l);

#endif /* TESTS_SIM_TABLES_LOAD_H */

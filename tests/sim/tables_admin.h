/* An administrator of tables: makes tables, adds and drops families, splits and
 * compacts, drops tables, and looks whether what was acknowledged holds.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TABLES_ADMIN_H
#define TESTS_SIM_TABLES_ADMIN_H

#include "tests/sim/storm.h"
#include "tests/sim/tables_cell.h"

struct quarry;
struct tables_admin;

/* @tables are those of others, which are split and compacted only. Owned. */
struct tables_admin *tables_admin_new(struct tables_cell *t,
                                      const char *const *tables,
                                      size_t count);
/* For storm_add_client(), with the administrator as its ctx. */
void tables_admin_work(struct storm_client *c);
/* Compare which tables there are with what was acknowledged. Parks. */
void tables_admin_finish(struct tables_admin *a, struct quarry *q);
void tables_admin_free(struct tables_admin *a);

#endif /* TESTS_SIM_TABLES_ADMIN_H */

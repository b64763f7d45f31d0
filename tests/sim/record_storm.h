/* Clients that append records to files they share, and the check that each one
 * that was acknowledged is at its place: part of file_storm.h.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_RECORD_STORM_H
#define TESTS_SIM_RECORD_STORM_H

#include "tests/sim/cell.h"
#include "tests/sim/file_model.h"
#include "tests/sim/storm.h"

struct fs;
struct record_storm;

/* @model (borrowed) knows of the faults. Owned. */
struct record_storm *record_storm_new(struct storm *s,
                                      struct sim_cell *cell,
                                      const struct file_model *model,
                                      unsigned clients);
/* Read every record that was acknowledged. Parks. */
void record_storm_finish(struct record_storm *r, struct fs *fs);
void record_storm_free(struct record_storm *r);

#endif /* TESTS_SIM_RECORD_STORM_H */

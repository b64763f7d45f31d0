/* A client that copies the directory others write in, and looks at the copy
 * while it comes to be: part of file_storm.h.
 *
 * Threads: one.
 */
#ifndef TESTS_SIM_TREE_STORM_H
#define TESTS_SIM_TREE_STORM_H

#include "tests/sim/cell.h"
#include "tests/sim/file_model.h"
#include "tests/sim/storm.h"

struct tree_storm;

/* Snapshots of @directory, whose files @model (borrowed) knows. Owned. */
struct tree_storm *tree_storm_new(struct storm *s,
                                  struct sim_cell *cell,
                                  struct file_model *model,
                                  const char *directory);
void tree_storm_free(struct tree_storm *t);

#endif /* TESTS_SIM_TREE_STORM_H */

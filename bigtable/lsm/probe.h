/* Probing the Bloom filters of a run for a row or a column.
 *
 * Threads: any; the caller pins the state the run is in.
 */
#ifndef BIGTABLE_LSM_PROBE_H
#define BIGTABLE_LSM_PROBE_H

#include "bigtable/lsm/version.h"

struct explain_tablet;

/* A row, or one column of it, with the hashes that filters take. */
struct run_probe {
    struct slice row;
    struct slice column; /* Empty: all of the row. */
    uint64_t row_hash;
    uint64_t column_hash;
    struct explain_tablet *explain; /* Borrowed; NULL, as run_probe_init()
                                       leaves it: not explained. */
};

/* Slices are borrowed. @column_hash is hash64_slice(@column). */
void run_probe_init(struct run_probe *p,
                    struct slice row,
                    struct slice column,
                    uint64_t column_hash);

/* *@maybe is false if @r has no entry of the row; with a column, none of it and
 * no deletion that covers it. Parks if a filter must be read. */
MUST_CHECK int run_probe_test(const struct run_probe *p,
                              const struct run *r,
                              bool *maybe,
                              struct err *err);

#endif /* BIGTABLE_LSM_PROBE_H */

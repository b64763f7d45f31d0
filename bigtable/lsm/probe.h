/* Asking the Bloom filters of a run whether a row or a column is in it.
 *
 * Threads: any; the caller pins the state the run is in.
 */
#ifndef BIGTABLE_LSM_PROBE_H
#define BIGTABLE_LSM_PROBE_H

#include "bigtable/lsm/version.h"

/* A row, or one column of it, with the hashes filters are asked by. */
struct run_probe {
    struct slice row;
    struct slice column; /* Empty: all of the row. */
    uint64_t row_hash;
    uint64_t column_hash;
};

/* @column_hash is hash64_slice(@column). */
void run_probe_init(struct run_probe *p,
                    struct slice row,
                    struct slice column,
                    uint64_t column_hash);

/* May @r hold entries of the row, or the column and what may delete in it?
 * Parks if a filter must be read. */
MUST_CHECK int run_probe_test(const struct run_probe *p,
                              const struct run *r,
                              bool *maybe,
                              struct err *err);

#endif /* BIGTABLE_LSM_PROBE_H */

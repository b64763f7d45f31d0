/* A run of an observer, and what its files share: the writes of the function
 * (observer_write.c), what rows stand for (observer_derive.c), and batches
 * (observer_run.c).
 *
 * Threads: the run's alone.
 */
#ifndef BIGTABLE_OBSERVER_OBSERVER_RUN_H
#define BIGTABLE_OBSERVER_OBSERVER_RUN_H

#include "base/core/buf.h"
#include "bigtable/observer/observer_code.h"

/* A row of a batch. */
struct observed_row {
    struct slice key;         /* Borrowed from the changes. */
    struct buf changes;       /* struct quarry_change each. */
    struct quarry_row *cells; /* Owned; NULL: none, or not read. */
    struct buf writes;        /* struct observer_write each. */
    unsigned failures;
    unsigned times;             /* It was put aside before. */
    char error[ERR_TEXT_BYTES]; /* Of the last failure. */
};

struct observer_write {
    struct quarry_table *table; /* Borrowed. */
    struct quarry_mutation *m;  /* Owned. */
};

struct observer_run {
    struct follower_run *follower; /* Borrowed, as all until `table`. */
    const struct observer_engine *engine;
    void *state; /* Of the engine; owned: its close(). */
    struct quarry *quarry;
    const char *name;
    struct quarry_table *table; /* Owned, as all below. */
    struct quarry_table *letters;
    struct observer_settings settings;
    struct quarry_table *outputs[QUARRY_OBSERVER_COLUMNS_MAX];
    size_t output_count;
    struct observed_row *rows; /* Of the batch. */
    size_t row_count;
    size_t row_cap;
    struct buf group; /* Of rows that are run together: see run_group(). */
    size_t batch_bytes;
    uint64_t letters_ns;
};

/* Forget the writes of @row. */
void observer_drop_writes(struct observed_row *row);
/* Put them into @txn. */
MUST_CHECK int observer_apply_writes(struct observer_run *r,
                                     struct quarry_txn *txn,
                                     const struct observed_row *row,
                                     struct err *err);
/* Put into @txn what makes of the cells that @row stood for those that it
 * stands for by its writes. ERR_INVALID: one of them is no setting of a cell.
 */
MUST_CHECK int observer_derive(struct observer_run *r,
                               struct quarry_txn *txn,
                               const struct observed_row *row,
                               struct err *err);
/* The open output @table. Borrowed from @r. */
MUST_CHECK int observer_find_output(struct observer_run *r,
                                    const char *table,
                                    struct quarry_table **out,
                                    struct err *err);

#endif /* BIGTABLE_OBSERVER_OBSERVER_RUN_H */

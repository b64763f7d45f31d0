/* The choice of the runs to compact, and of the run that a flushed table joins:
 * decided from a description of the runs alone. No clock, no I/O, no locks.
 *
 * Runs are tiered: when TIER_RUNS_MAX neighbours of about one size have
 * gathered, they become one of the next size, so that an entry is rewritten
 * once for each power of TIER_RUNS_MAX the group grows by. The oldest run is
 * levelled lazily: it is rewritten only when what lies above it has grown to
 * BOTTOM_GROWTH times its size. A table that overlaps nothing newer joins an
 * old run instead of making a new one, so rows that arrive in order are never
 * rewritten at all.
 */
#ifndef BIGTABLE_LSM_COMPACTION_CHOICE_H
#define BIGTABLE_LSM_COMPACTION_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

/* 8 runs of one size merge: 1 GB in 64 MB memtables is rewritten once. */
#define TIER_RUNS_MAX 8
/* Sizes within this factor are of one tier. */
#define TIER_WIDTH 4
/* More runs than this are merged whatever it costs: a read searches each. */
#define RUNS_MAX 24
/* The oldest run is rewritten when the runs above it are this many times its
 * size. */
#define BOTTOM_GROWTH 2

struct choice_table {
    uint64_t bytes;
    struct slice first_row; /* Encoded row parts of its bounds. */
    struct slice last_row;
};

struct choice_run {
    uint32_t number;
    const struct choice_table *tables; /* By key. */
    size_t table_count;
    uint64_t bytes; /* Of all tables. */
};

/* Runs [first, first + count) of those given; count 0: nothing to do. */
struct compaction_choice {
    size_t first;
    size_t count;
    uint64_t bytes; /* Of their tables. */
};

/* Choose a compaction. @runs are all runs, newest first. @base_bytes is the
 * size of a flushed table: smaller runs count as that large. PRE: it is not 0.
 */
struct compaction_choice choose_compaction(const struct choice_run *runs,
                                           size_t run_count,
                                           uint64_t base_bytes);

/* Number of the run that flushed tables of rows [@first_row, @last_row] belong
 * to: an existing one they can join, or one above the newest. Runs with numbers
 * in [busy_min, busy_max] are being compacted and cannot be joined; nor can an
 * older one than those. */
uint32_t choose_flush_run(const struct choice_run *runs,
                          size_t run_count,
                          struct slice first_row,
                          struct slice last_row,
                          uint32_t busy_min,
                          uint32_t busy_max);

/* True if some table of @run, by its bounds, may have rows of [@first_row,
 * @last_row]. */
bool choice_run_overlaps(const struct choice_run *run,
                         struct slice first_row,
                         struct slice last_row);

#endif /* BIGTABLE_LSM_COMPACTION_CHOICE_H */

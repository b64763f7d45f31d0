/* The two kinds of sources a group is read from: a memtable, and a run of
 * tables walked one after the other.
 *
 * Threads: one; the caller keeps the memtable or the run alive.
 */
#ifndef BIGTABLE_LSM_SOURCE_H
#define BIGTABLE_LSM_SOURCE_H

#include "bigtable/lsm/merge.h"
#include "bigtable/lsm/version.h"
#include "bigtable/sstable/sstable_reader.h"

struct chain_prefetch;
struct explain_tablet;

struct mem_source {
    struct merge_source base;
    const struct memtable *mem; /* Borrowed. */
    const struct skip_node *node;
    uint64_t sequence_max; /* Entries with higher numbers are skipped. */
    struct chain_prefetch *prefetch; /* Borrowed; NULL: none, see below. */
    struct explain_tablet *explain;  /* Borrowed; NULL: not explained. */
};

/* Over @mem, borrowed. */
void mem_source_init(struct mem_source *s,
                     const struct memtable *mem,
                     uint64_t sequence_max);

/* Count the entries that it shows. @explain is borrowed. */
void mem_source_explain(struct mem_source *s, struct explain_tablet *explain);

/* Prefetch for a reader of all entries of @s. PRE: its memtable is frozen.
 * @prefetch is borrowed for as long as the source is used. */
void mem_source_read_whole(struct mem_source *s,
                           struct chain_prefetch *prefetch);

/* The entries that a run source skips. */
struct source_bounds {
    struct slice lower;    /* Entries below, */
    struct slice upper;    /* and at or above (empty: no bound). */
    uint64_t sequence_max; /* Entries with higher numbers. */
    int64_t time_min_us;   /* Tables with puts of other times alone; */
    int64_t time_max_us;   /* equal: no bound. */
};

struct run_source {
    struct merge_source base;
    struct sstable_file *const *tables; /* Borrowed. */
    uint32_t table_count;
    uint32_t at;                        /* Table under the iterator. */
    const struct source_bounds *bounds; /* Borrowed. */
    enum sstable_read_mode mode;
    bool check_upper;    /* The table reaches over the upper bound, */
    bool check_sequence; /* or holds numbers that are too high. */
    bool is_plain;       /* Neither, and its keys are as they are. */
    uint64_t given;      /* Number that all its entries have; 0: their own. */
    struct buf key;      /* With that number. */
    struct explain_tablet *explain; /* Borrowed; NULL: not explained. */
    struct sstable_iter iter;
};

/* Over @tables, a run. All pointers are borrowed. PRE: there is a table. */
void run_source_init(struct run_source *s,
                     struct sstable_file *const *tables,
                     uint32_t table_count,
                     const struct source_bounds *bounds,
                     enum sstable_read_mode mode);
/* Count the entries that it shows, and the fate of its tables, which are known
 * to @explain (borrowed). */
void run_source_explain(struct run_source *s, struct explain_tablet *explain);
/* Release the block under the iterator. */
void run_source_close(struct run_source *s);

#endif /* BIGTABLE_LSM_SOURCE_H */

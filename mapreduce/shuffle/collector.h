/* Where emitted pairs go: kept and combined in memory, written to the attempt's
 * spill as a sorted run whenever the memory is full.
 *
 * There are three ways to keep them: added up (count_table.h) for jobs that
 * combine by mr_combine_sum, folded (pair_store.h) for other combiners, and
 * plain. collector_finish() leaves the last pairs in memory, sorted, as one
 * more run; if nothing was spilled before, there may be no file at all.
 *
 * shuffle/ stands on task/ and knows no input, output or engine; attempt/,
 * master/ and cluster/ may include it.
 *
 * Invariants
 *
 * INV-1. pairs_out <= pairs_in: combining only joins pairs.
 * INV-2. code, once set, stays.
 * INV-3. A run has its pairs by (partition, key). All kept by collector.c;
 *        spill.c asserts INV-3 as it writes.
 *
 * One thread. add() parks when it spills.
 */
#ifndef MAPREDUCE_SHUFFLE_COLLECTOR_H
#define MAPREDUCE_SHUFFLE_COLLECTOR_H

#include "mapreduce/mapreduce.h"
#include "mapreduce/shuffle/count_table.h"
#include "mapreduce/shuffle/pair_store.h"
#include "mapreduce/shuffle/run_merge.h"
#include "mapreduce/shuffle/sort.h"
#include "mapreduce/shuffle/spill.h"

struct keyring;
struct world;

enum collector_kind {
    COLLECT_COUNTS,
    COLLECT_FOLDED,
    COLLECT_PLAIN
};

struct collector_options {
    struct world *world;
    const struct mr_job *job;
    struct mr_task *task; /* Passed to the job's functions. */
    unsigned partition_count;
    const struct slice *cuts; /* Total order: the first keys of partitions 1 and
                                 above; NULL otherwise. Borrowed. */
    const char *spill_path;   /* Borrowed. NULL: what does not fit into the
                                 memory is an error (ERR_TOOBIG). */
    char *memory;             /* Borrowed; aligned to 64. */
    size_t memory_bytes;
    int level;               /* Of zstd, for spills. */
    struct keyring *keyring; /* Of spills; borrowed; NULL: not encrypted. */
};

struct collector {
    struct collector_options opts;
    enum collector_kind kind;
    struct count_table counts;
    struct pair_store pairs;
    struct block_codec codec;
    struct spill_writer spill;
    bool spilled;          /* The spill file is open. */
    struct sort_ref *refs; /* After collector_finish(): the pairs in memory. */
    size_t ref_count;
    uint64_t pairs_in;    /* Emitted. */
    uint64_t pairs_out;   /* Written or left in memory. */
    uint64_t spill_bytes; /* Of the file, once finished. */
    uint64_t spill_count; /* Runs written. */
    int code;             /* The first error; sticky. */
    struct err err;
};

/* Least memory a collector can work in. */
#define COLLECTOR_BYTES_MIN COUNT_TABLE_BYTES_MIN

/* @opts is copied; its memory and cuts are borrowed until collector_close().
 * PRE: memory_bytes >= COLLECTOR_BYTES_MIN. */
void collector_init(struct collector *c, const struct collector_options *opts);
/* Release what collector_init() made; the spill file stays. */
void collector_close(struct collector *c);

/* Add a pair, copied. Never fails: the first error is kept for
 * collector_finish(). Parks when it spills. */
void collector_add(struct collector *c, struct slice key, struct slice value);
/* The same of a number, without encoding it where counts are added up. */
void collector_add_count(struct collector *c, struct slice key, int64_t by);

/* The partition a key belongs to. */
unsigned collector_partition(const struct collector *c, struct slice key);

/* Sort the pairs in memory; with @to_file write them as the last run and close
 * the file. Returns the first error of all adds. Parks. */
MUST_CHECK int
collector_finish(struct collector *c, bool to_file, struct err *err);

/* The pairs of @partition that collector_finish() left in memory, as a run.
 * Owned: closed by its close(). PRE: the collector outlives it. */
struct merge_source *collector_source(struct collector *c, unsigned partition);

#endif /* MAPREDUCE_SHUFFLE_COLLECTOR_H */

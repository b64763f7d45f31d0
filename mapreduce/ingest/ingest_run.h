/* One import while it runs: its files, its tasks, its counts and report, and
 * the batches in which rows reach the table. Shared by all kinds of input.
 *
 * Invariant INV-1: everything after `lock` is read and written under it
 * (ingest_run.c).
 *
 * Threads: run_* may be called by all tasks of the run; an input and a batch
 * belong to one task.
 */
#ifndef MAPREDUCE_INGEST_INGEST_RUN_H
#define MAPREDUCE_INGEST_INGEST_RUN_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/ingest.h"
#include "mapreduce/ingest/time_set.h"

struct file;
struct run;

/* --- the run ------------------------------------------------------------- */

/* Read one file, on a task of the run. @index is its place among the paths. */
typedef int (*run_file_fn)(struct run *run, size_t index, struct err *err);

struct run {
    struct quarry *q;
    struct quarry_table *table;
    const char *table_name; /* Borrowed. */
    struct ingest_options opts;
    struct world *world;
    bool owns_world;
    const char *const *paths;
    const char *const *names; /* Of the paths, for people. */
    size_t path_count;
    run_file_fn read_file;
    void *kind;             /* Of read_file. */
    bool skips_other_kinds; /* ERR_CORRUPT from read_file skips the file. */
    bool made_table;        /* It did not exist before. */
    struct quarry_table_info *aggregates; /* Of a table that has any; owned. */
    bool text;           /* Files are text, and different rows are counted. */
    atomic_bool stopped; /* There is an `err`; read without the lock. */
    atomic_bool may_not_read; /* The caller: rows are not looked up. */
    uint64_t started_ns;

    struct mutex lock; /* Guards everything below: several tasks report. */
    struct ingest_report *report;
    size_t damage_cap;
    size_t cut_count;     /* Texts of which a part could not be decompressed, */
    size_t first_cut;     /* and the index of one. */
    struct time_set rows; /* Hashes of the rows written, if @text. */
    size_t next_path;
    size_t paths_done;
    uint64_t bytes_total;
    uint64_t progress_ns; /* When progress was last reported. */
    size_t first_refused; /* Index of a file of another kind. */
    struct err err;       /* The first failure; others stop then. */
};

/* The families that the table must have, and is made with. */
struct run_shape {
    const struct quarry_family_spec *families;
    size_t family_count;
    const struct quarry_group_spec *groups;
    size_t group_count;
    bool text;   /* See run.text. */
    bool binary; /* But the files are no text. */
};

/* Check the paths and open the table. run_close() in any case. */
MUST_CHECK int run_open(struct run *run,
                        const struct ingest_job *job,
                        const struct run_shape *shape,
                        struct ingest_report *report,
                        struct err *err);
/* Read all files, several at a time. Parks. */
MUST_CHECK int run_files(struct run *run, struct err *err);
/* Make the written rows durable if @code is 0, and release everything. Returns
 * @code or the flush's. Parks. */
int run_close(struct run *run, int code, struct err *err);

/* Count @lines that a reported place of damage has swallowed. */
void run_lost(struct run *run, uint64_t lines);

/* A line of a text, or several that make a record. */
struct run_line {
    uint64_t offset;   /* In the decompressed text. */
    uint64_t number;   /* From 1. */
    struct slice text; /* Without its end. */
    struct slice raw;  /* With it, as it is in the file. */
};

/* Add a line that is refused, or taken in part (@lost is false), to the report,
 * and its bytes to what the caller keeps of such lines. */
void run_refuse(struct run *run,
                size_t path_index,
                const struct run_line *line,
                bool lost,
                const char *reason);

/* Has something ended the run? The next run_count() says what. */
static inline bool run_stopped(struct run *run)
{
    return atomic_load_explicit(&run->stopped, memory_order_relaxed);
}

/* File @path_index could not be decompressed whole. */
void run_cut(struct run *run, size_t path_index);

/* Add a place of damage to the report. @reason is copied. */
void run_damage(struct run *run,
                size_t path_index,
                uint64_t offset,
                bool lost,
                const char *reason);

/* Counts of a task since it last added them to the report. */
struct run_counts {
    uint64_t records;
    uint64_t pages;
    uint64_t revisits;
    uint64_t links;
    uint64_t skipped;
    uint64_t rows;
    uint64_t cells;
    uint64_t bytes_read;
    uint64_t bytes_decoded;
};

/* Count @count rows of these hashes as applied, and as new those that were
 * @absent before; NULL: that is not known. */
void run_rows(struct run *run,
              const uint64_t *hashes,
              const bool *absent,
              size_t count);

/* Add @c to the report, zero it, and report progress when it is time. Returns
 * an error when another task failed. */
MUST_CHECK int
run_count(struct run *run, struct run_counts *c, struct err *err);

/* --- input --------------------------------------------------------------- */

struct run_input {
    struct file *file;
    uint64_t offset;
    uint64_t size_bytes;
    const char *path;
};

MUST_CHECK int run_input_open(struct run *run,
                              size_t index,
                              struct run_input *in,
                              struct err *err);
/* The read callback of readers; @ctx is a struct run_input. */
MUST_CHECK int
run_input_read(void *ctx, void *dst, size_t len, size_t *got, struct err *err);
void run_input_close(struct run_input *in);

/* --- batches ------------------------------------------------------------- */

/* Rows gathered before they are applied together. */
#define RUN_BATCH_BYTES ((size_t)1 << 20)
#define RUN_BATCH_ROWS  ((size_t)4096)
/* A row with more than this is long. */
#define RUN_LONG_ROW_BYTES ((size_t)4 << 10)

/* A mutation that may be used again, and the most bytes it ever had. */
struct run_mutation {
    struct quarry_mutation *mutation;
    size_t bytes_most;
};

/* The mutations of a stack, the last one given back on top. */
struct run_spare {
    struct run_mutation *at; /* RUN_BATCH_ROWS of them. */
    size_t count;
    size_t bytes; /* The sum of bytes_most. */
};

struct run_batch {
    struct run *run;
    uint64_t *hashes;              /* Of the rows' keys. */
    bool *absent;                  /* They are not in the table. */
    struct buf keys;               /* Of the rows, if they are looked up, */
    size_t *key_ends;              /* and where each ends. */
    struct quarry_mutation **rows; /* The first `count` are in use. */
    size_t *sizes; /* The most bytes that each mutation in use had. */
    struct run_spare short_rows;
    struct run_spare long_rows; /* RUN_BATCH_BYTES of them at most. */
    size_t count;
    size_t row_bytes; /* Of the last row. */
    size_t bytes;
    struct run_counts counts;
};

void run_batch_init(struct run_batch *b, struct run *run);
void run_batch_close(struct run_batch *b);
/* A mutation of @row to fill; it belongs to the batch. Full batches are applied
 * first, so call it before, not between, the sets of a row. @bytes: about how
 * many its values have; 0: few. Parks. */
MUST_CHECK int run_batch_row(struct run_batch *b,
                             struct slice row,
                             size_t bytes,
                             struct quarry_mutation **m,
                             struct err *err);
/* Set a cell, counted; one of an aggregate to a state, so that an import that
 * is repeated gives the same. */
void run_batch_set(struct run_batch *b,
                   struct quarry_mutation *m,
                   const char *family,
                   struct slice qualifier,
                   int64_t time_us,
                   struct slice value);
/* Apply what has been gathered. Parks. */
MUST_CHECK int run_batch_flush(struct run_batch *b, struct err *err);

/* --- lines --------------------------------------------------------------- */

/* Lines of a text file, decompressed if it is gzip, zstd, lz4, bzip2 or xz. */
struct run_lines;

MUST_CHECK int run_lines_open(struct run *run,
                              size_t index,
                              struct run_lines **out,
                              struct err *err);
/* Close the file and free @l. */
void run_lines_close(struct run_lines *l);
/* The first bytes of the decompressed text, borrowed until a line is read. PRE:
 * none was. */
MUST_CHECK int
run_lines_head(struct run_lines *l, struct slice *head, struct err *err);
/* The next line, borrowed until the next call; its number is 0 after the last.
 * A mark of UTF-8 before the first is left out. A line of more than 64 MiB, and
 * one that damage of the compression has cut, is refused and skipped. Parks. */
MUST_CHECK int
run_lines_next(struct run_lines *l, struct run_line *line, struct err *err);
/* From now on damage is not reported: this look at the file is not the only
 * one. */
void run_lines_mute(struct run_lines *l);
/* Was some of the text lost, or under a wrong checksum? */
bool run_lines_damaged(const struct run_lines *l);
uint64_t run_lines_bytes_in(const struct run_lines *l);

#endif /* MAPREDUCE_INGEST_INGEST_RUN_H */

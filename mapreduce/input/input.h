/* Inputs of jobs: planning what each map task reads, and reading it.
 *
 * A split is a piece of one input: a byte range of a text file, some blocks of
 * a record file, a whole compressed file, a range of rows. Its reader hands out
 * records one by one. Splits are plain data and travel to wherever the task
 * runs.
 *
 * input/ stands on task/ and warc/, and reads tables; attempt/, master/ and
 * cluster/ may include it.
 *
 * One thread; everything parks.
 */
#ifndef MAPREDUCE_INPUT_INPUT_H
#define MAPREDUCE_INPUT_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/damage.h"
#include "mapreduce/records/files.h"
#include "mapreduce/task/input_split.h"

struct cursor;
struct input_reader;
struct quarry;

/* Set the machines of the splits from number @first on: those that have their
 * bytes of the file @path. Does nothing where files are the world's. Parks. */
MUST_CHECK int input_splits_locate(struct input_splits *s,
                                   size_t first,
                                   const struct job_files *files,
                                   const char *path,
                                   struct err *err);

/* Join neighbours in one file to splits of up to @bytes, and an eighth more;
 * neighbours without a machine that has both stay apart. */
void input_splits_join(struct input_splits *s, uint64_t bytes);

/* The surroundings of planning and reading, besides the SPEC. */
struct input_context {
    struct job_files files;
    const struct mr_spec *specs;
    struct quarry *store; /* Of tables; NULL if none is read. */
    char *const
        *snapshots; /* For a plan: split.snapshot of each SPEC; or NULL. */
    uint64_t split_bytes;  /* About the size of a split of files. */
    unsigned worker_count; /* Tables are cut into at least as many splits. */
    /* Opens the rows of a split where this process has no store; NULL: `store`
     * is used. */
    int (*open_rows)(void *ctx,
                     const struct input_split *split,
                     struct input_reader **out,
                     struct err *err);
    void *rows_ctx;
    const unsigned char *scratch_key; /* Of SPECs with `scratch`. */
};

/* Append the splits of input @input to @splits. ERR_NOTFOUND: nothing matches;
 * ERR_CORRUPT: not a record file; ERR_DENIED. Parks. */
MUST_CHECK int input_plan(const struct input_context *ctx,
                          unsigned input,
                          struct input_splits *splits,
                          struct err *err);

struct input_reader {
    /* The next record, borrowed until the next call. Leaves record.number and
     * input to the caller. Parks. */
    int (*next)(struct input_reader *r,
                struct mr_record *record,
                bool *more,
                struct err *err);
    void (*close)(struct input_reader *r);
    uint64_t bytes_done;  /* Of split.bytes, about. */
    struct damage damage; /* Met and skipped so far. */
};

/* A reader of @split; owned: input_reader_close(). @split and @ctx must outlive
 * it. Parks. */
MUST_CHECK int input_open(const struct input_context *ctx,
                          const struct input_split *split,
                          struct input_reader **out,
                          struct err *err);
void input_reader_close(struct input_reader *r); /* NULL is allowed. */

#endif /* MAPREDUCE_INPUT_INPUT_H */

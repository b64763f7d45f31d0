/* Inputs of jobs: planning what each map task reads, and reading it.
 *
 * A split is a piece of one input: a byte range of a text file, some blocks of
 * a record file, a whole packed file, a range of rows. Its reader hands out
 * records one by one. Splits are plain data and travel to wherever the task
 * runs.
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

struct cursor;
struct input_reader;
struct quarry;

#define INPUT_MACHINES_MAX 3

enum input_packing {
    INPUT_PLAIN,
    INPUT_GZIP,
    INPUT_ZSTD
};

struct input_split {
    unsigned input;             /* Index of the SPEC. */
    enum input_packing packing; /* Text only. */
    bool unindexed;             /* A record file that lost its index. */
    char *path;                 /* File or table. Owned. */
    char *snapshot;             /* The table that holds what `path` was when the
                               job began; NULL: itself is read. Owned. */
    uint64_t begin;             /* Bytes of the file; rows use the two below. */
    uint64_t end;
    struct buf first_row; /* Rows [first_row, end_row). */
    struct buf end_row;
    uint64_t bytes; /* About how much there is to read. */
    /* Machines that have it, best first; NULL behind the last. Owned. */
    char *machines[INPUT_MACHINES_MAX];
};

struct input_splits {
    struct input_split *at; /* Owned. */
    size_t count;
    size_t cap;
};

void input_splits_init(struct input_splits *s);
void input_splits_close(struct input_splits *s);
/* A new split at the end, zeroed but for its input and a copy of @path. */
struct input_split *
input_splits_add(struct input_splits *s, unsigned input, const char *path);

void input_split_encode(const struct input_split *s, struct buf *out);
/* Sets in->bad when malformed; close it in any case. */
void input_split_decode(struct input_split *s, struct cursor *in);
void input_split_close(struct input_split *s);
/* Enter one more machine that has the split; beyond the last place, nothing. */
void input_split_place(struct input_split *s, const char *machine);
/* Enter where the bytes of the splits from number @first on, all of the file
 * @path, are. Nothing where files are the world's. */
MUST_CHECK int input_splits_locate(struct input_splits *s,
                                   size_t first,
                                   const struct job_files *files,
                                   const char *path,
                                   struct err *err);
/* Join neighbours in one file to splits of up to @bytes, and an eighth more;
 * those of which no machine has both stay apart. */
void input_splits_join(struct input_splits *s, uint64_t bytes);
/* "logs/a.txt, bytes 0 to 67108864" appended to @out. */
void input_split_describe(const struct input_split *s, struct buf *out);

/* What planning and reading need besides the SPEC. */
struct input_context {
    struct job_files files;
    const struct mr_spec *specs;
    struct quarry *store; /* Of tables; NULL if none is read. */
    char *const
        *snapshots; /* For a plan: split.snapshot of each SPEC; or NULL. */
    uint64_t split_bytes;  /* About the size of a split of files. */
    unsigned worker_count; /* At least so many splits of a table. */
    /* Opens the rows of a split where this process has no store; NULL: it has.
     */
    int (*open_rows)(void *ctx,
                     const struct input_split *split,
                     struct input_reader **out,
                     struct err *err);
    void *rows_ctx;
    const unsigned char *scratch_key; /* Of SPECs with `scratch`. */
};

/* Append the splits of input @input to @splits. ERR_NOTFOUND: nothing matches;
 * ERR_CORRUPT: no record file at all. */
MUST_CHECK int input_plan(const struct input_context *ctx,
                          unsigned input,
                          struct input_splits *splits,
                          struct err *err);

struct input_reader {
    /* The next record, borrowed until the next call. record.number and input
     * are the caller's to fill. */
    int (*next)(struct input_reader *r,
                struct mr_record *record,
                bool *more,
                struct err *err);
    void (*close)(struct input_reader *r);
    uint64_t bytes_done;  /* Of split.bytes, about. */
    struct damage damage; /* Met so far, and passed over. */
};

/* Owned: input_reader_close(). @split and @ctx must outlive it. */
MUST_CHECK int input_open(const struct input_context *ctx,
                          const struct input_split *split,
                          struct input_reader **out,
                          struct err *err);
void input_reader_close(struct input_reader *r); /* NULL is allowed. */

/* --- the kinds: plan and open as above ----------------------------------- */

MUST_CHECK int input_text_open(const struct input_context *ctx,
                               const struct input_split *split,
                               struct input_reader **out,
                               struct err *err);
MUST_CHECK int input_records_open(const struct input_context *ctx,
                                  const struct input_split *split,
                                  struct input_reader **out,
                                  struct err *err);
MUST_CHECK int input_warc_open(const struct input_context *ctx,
                               const struct input_split *split,
                               struct input_reader **out,
                               struct err *err);
MUST_CHECK int input_table_open(const struct input_context *ctx,
                                const struct input_split *split,
                                struct input_reader **out,
                                struct err *err);
MUST_CHECK int input_text_plan(const struct input_context *ctx,
                               unsigned input,
                               const char *path,
                               struct input_splits *splits,
                               struct err *err);
MUST_CHECK int input_records_plan(const struct input_context *ctx,
                                  unsigned input,
                                  const char *path,
                                  struct input_splits *splits,
                                  struct err *err);
MUST_CHECK int input_table_plan(const struct input_context *ctx,
                                unsigned input,
                                struct input_splits *splits,
                                struct err *err);

#endif /* MAPREDUCE_INPUT_INPUT_H */

/* Where a task attempt writes its results: one struct mr_output for each output
 * SPEC, each with files of the attempt's own in the SPEC's staging directory.
 *
 *     STAGING/.r00003.1.part        what mr_write() and mr_put() wrote
 *     STAGING/.r00003.1.side.NAME   what mr_write_side() wrote
 *
 * The job master renames the files of the winning attempt to part-00003 and
 * NAME-00003, and at the end the staging directory to the output directory
 * (commit.h). Changes of tables are records: key the row, value a list of
 * operations (table_changes.h); or SSTables are written at once, and the
 * part is their list (bulk_output.h).
 *
 * output/ stands on task/ and writes tables; attempt/, master/ and cluster/ may
 * include it.
 *
 * One thread; finish parks.
 */
#ifndef MAPREDUCE_OUTPUT_OUTPUT_H
#define MAPREDUCE_OUTPUT_OUTPUT_H

#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/files.h"

struct buf;
struct cursor;
struct key_loan;
struct quarry;

struct output_set;
struct table_change;

struct output_context {
    struct job_files files;
    const struct mr_spec *specs;
    char *const *staging; /* One directory a SPEC; they exist. */
    size_t count;
    const char *text_separator;
    int64_t job_time_us;
    struct quarry *store; /* To reach a cell's SSTables; or NULL. */
    int level;            /* zstd's, of record files. */
    /* For the changes of tables, and the files of bulk loads: one per SPEC. A
     * missing one, or one without a key: they are not encrypted. */
    const struct key_loan *loans;
    size_t loan_count;
    const unsigned char *scratch_key; /* Of SPECs with `scratch`. */
    /* Receives the changes of tables, instead of files; NULL: files do. */
    int (*take)(void *ctx,
                struct slice row,
                const struct table_change *change,
                struct err *err);
    void *take_ctx;
};

/* Open the parts of all outputs. @prefix ("r00003.1") names the attempt. Owned:
 * output_set_close(). @ctx is copied, what it points to is borrowed. Parks. */
MUST_CHECK int output_set_open(const struct output_context *ctx,
                               const char *prefix,
                               struct output_set **out,
                               struct err *err);
/* The output @name, borrowed from @s; NULL: there is none of that name. @name
 * NULL: the first. */
struct mr_output *output_set_find(struct output_set *s, const char *name);
/* The first error of any write so far, or 0. Does not park. */
int output_set_error(const struct output_set *s, struct err *err);
/* Forget it, where changes are taken row by row: the next row's are good. */
void output_set_forget(struct output_set *s);
/* Complete all files and flush them to the disk. Returns the first error of all
 * writes. Parks. */
MUST_CHECK int output_set_finish(struct output_set *s, struct err *err);
void output_set_close(struct output_set *s); /* NULL is allowed. */

uint64_t output_set_records(const struct output_set *s);
uint64_t output_set_changes(const struct output_set *s);
/* Rows written into SSTables. */
uint64_t output_set_rows(const struct output_set *s);
uint64_t output_set_bytes(const struct output_set *s);
/* The side files written, as (output:varint name:lslice)*, for the report. */
void output_set_encode_sides(const struct output_set *s, struct buf *out);

/* Path of an attempt's file, into the cleared @out; @side NULL for the part. */
void output_path(struct buf *out,
                 const char *staging,
                 const char *prefix,
                 const char *side);

/* Record an error of the job's code (@what: "wrote…"), unless there is an
 * earlier one. */
void output_set_misuse(struct output_set *s, const char *what);

#endif /* MAPREDUCE_OUTPUT_OUTPUT_H */

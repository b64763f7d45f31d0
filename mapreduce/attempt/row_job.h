/* A job's functions over one row at a time, in this process and in memory: what
 * the row stands for, as changes of the job's table. Observers run jobs so
 * (observe/observe_job.c): a batch job and what keeps its result right are one
 * code.
 *
 * Map, combine, sort and reduce are those of an attempt (attempt.h). setup()
 * and teardown() of the job run once for all rows, of each stage; so a job must
 * keep nothing from one record to the next, and one that has map_end() or
 * reduce_end() is refused.
 *
 * Only for code that is built in: nothing confines it here.
 *
 * Threads: one at a time. Nothing parks.
 */
#ifndef MAPREDUCE_ATTEMPT_ROW_JOB_H
#define MAPREDUCE_ATTEMPT_ROW_JOB_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct mr_job;
struct mr_setting;
struct quarry_row;
struct row_job;
struct world;

/* Pairs that one row may make: more, and the row fails (ERR_TOOBIG). */
#define ROW_JOB_BYTES ((size_t)64 << 20)

/* Called for each cell that the row makes; slices live for the call. */
typedef int (*row_job_cell_fn)(void *ctx,
                               struct slice row,
                               struct slice family,
                               struct slice qualifier,
                               struct slice value,
                               struct err *err);

/* @job over the rows of @table; both, and @params with what they point to, are
 * borrowed. *@out is owned: row_job_close(). ERR_INVALID: the job is none that
 * works row by row, or a parameter is wrong. */
MUST_CHECK int row_job_open(struct world *world,
                            const struct mr_job *job,
                            const char *table,
                            const struct mr_setting *params,
                            size_t param_count,
                            struct row_job **out,
                            struct err *err);
void row_job_close(struct row_job *j); /* NULL is allowed. */

/* Call @fn for each cell that @row makes, rows ascending. Errors are those of
 * the job and of @fn; ERR_UNSUPPORTED: it deletes something, or sets a time. */
MUST_CHECK int row_job_run(struct row_job *j,
                           const struct quarry_row *row,
                           row_job_cell_fn fn,
                           void *ctx,
                           struct err *err);

#endif /* MAPREDUCE_ATTEMPT_ROW_JOB_H */

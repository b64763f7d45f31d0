/* The directories of jobs that died: found and removed by later jobs.
 *
 * A job owns its directories (its work directory, the staging directory beside
 * each output) by a locked file ".owner" in them. The kernel releases the lock
 * when the job's process ends, however it ends; so a directory whose lock can
 * be taken has no owner. A directory gets its name only with the lock held, so
 * that none is ever seen without its owner. One that has no such file is left
 * alone: it was kept on purpose.
 *
 * Used by the job master alone; everything parks.
 */
#ifndef MAPREDUCE_OUTPUT_LEFTOVERS_H
#define MAPREDUCE_OUTPUT_LEFTOVERS_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"

struct file_lock;
struct job_files;

/* Make directory @path, with those above it, and own it. file_unlock(*lock)
 * when it is removed or published. ERR_EXISTS. In the file system of a cell,
 * whose jobs have one master, there are no locks: *@lock is NULL. */
MUST_CHECK int leftovers_make(const struct job_files *files,
                              const char *path,
                              struct file_lock **lock,
                              struct err *err);
/* Own directory @path, which a dead job left. *@lock is NULL if it does not
 * exist. ERR_BUSY: its owner lives. */
MUST_CHECK int leftovers_take(const struct job_files *files,
                              const char *path,
                              struct file_lock **lock,
                              struct err *err);
/* Release @path and leave it in place, without an owner. */
void leftovers_keep(const struct job_files *files,
                    const char *path,
                    struct file_lock *lock);

/* Remove the staging directories of dead jobs beside output @path. The names of
 * those removed are appended to @removed, a line each. A directory that cannot
 * be removed stays: this is housekeeping and never fails a job. */
void leftovers_remove_staging(const struct job_files *files,
                              const char *path,
                              struct buf *removed);
/* The same for the work directories of dead jobs in @history_dir for which
 * @unwanted is true: nobody will resume them. It is asked only about jobs that
 * left such a directory. Then the oldest of more than @jobs_max jobs are
 * removed, unless they have one. */
void leftovers_remove_work(const struct job_files *files,
                           const char *history_dir,
                           bool (*unwanted)(void *ctx, const char *job_id),
                           void *ctx,
                           size_t jobs_max,
                           struct buf *removed);

#endif /* MAPREDUCE_OUTPUT_LEFTOVERS_H */

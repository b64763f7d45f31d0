/* Making results visible, once: the files of winning attempts get their final
 * names inside a staging directory beside the output, and the directory gets
 * its final name when the whole job has succeeded.
 *
 *     out/                      the output the user named
 *     .out.JOB/                 its staging directory, until the commit
 *     .out.JOB/.old/            made with it, and by nobody later: without it,
 *                               the name stands for nothing
 *     .out.JOB/.old/output      what --overwrite replaces, and then for a
 *     out/.old/output           moment here
 *
 * Two masters may do all of this side by side, where one has lost its lock and
 * does not know yet. Creating a file makes directories that are missing, so
 * that the late one may make the staging directory again when the other has
 * published it. A rename makes none: the one that would move the new output
 * away, to .old, fails then.
 *
 * A table's staging directory holds its changes and lies in the work directory.
 *
 * Used by the job master alone; everything parks.
 */
#ifndef MAPREDUCE_OUTPUT_COMMIT_H
#define MAPREDUCE_OUTPUT_COMMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "mapreduce/job.h"

struct buf;
struct keyring;
struct quarry;
struct job_files;

/* Append the staging directory of output number @index to @out. */
void commit_staging_path(const struct mr_spec *spec,
                         unsigned index,
                         const char *job_id,
                         const char *work_dir,
                         struct buf *out);

/* Is the output free to be written? ERR_EXISTS otherwise. A directory without
 * names counts as free. */
MUST_CHECK int commit_check(const struct job_files *files,
                            const struct mr_spec *spec,
                            bool overwrite,
                            struct err *err);

/* The attempt @prefix has won task @task: give its files their names in the
 * staging directories. @sides is from its report. A repeated call changes
 * nothing. Parks. */
MUST_CHECK int commit_task(const struct job_files *files,
                           char *const *staging,
                           size_t output_count,
                           const char *prefix,
                           unsigned task,
                           struct slice sides,
                           struct err *err);

/* Make the .old directory of a new staging directory. Parks. */
MUST_CHECK int commit_begin(const struct job_files *files,
                            const char *staging,
                            struct err *err);

/* ERR_NOTFOUND: @staging has been published, or abandoned. Parks. */
MUST_CHECK int commit_find_staging(const struct job_files *files,
                                   const char *staging,
                                   struct err *err);

/* Publish one output: rename the directory, or apply the changes to the table
 * (counted in *@rows) and flush it. @keys decrypts the changes; NULL: they are
 * not encrypted. A repeated call changes nothing. Parks. */
MUST_CHECK int commit_output(const struct job_files *files,
                             const struct mr_spec *spec,
                             const char *staging,
                             bool overwrite,
                             struct keyring *keys,
                             struct quarry *store,
                             uint64_t *rows,
                             struct err *err);

/* Remove the output that the one published at @path replaced. Parks. */
MUST_CHECK int commit_forget_old(const struct job_files *files,
                                 const char *path,
                                 struct err *err);

/* Remove @staging, which has not been published, and move the old output back
 * to @path if it was moved. ERR_EXISTS: @path exists again, and nothing is
 * removed. Parks. */
MUST_CHECK int commit_abandon(const struct job_files *files,
                              const char *staging,
                              const char *path,
                              struct err *err);

#endif /* MAPREDUCE_OUTPUT_COMMIT_H */

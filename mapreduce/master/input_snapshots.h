/* The tables a job reads, as they were when it began: in a cell, tables of
 * their own, cloned by the cell's master, which share the files of the
 * originals. They are named by the job, so that a process that resumes it finds
 * them, and are in the splits of the plan. (In a directory, quarry_pin() does
 * the same.)
 *
 * One thread; everything parks.
 */
#ifndef MAPREDUCE_MASTER_INPUT_SNAPSHOTS_H
#define MAPREDUCE_MASTER_INPUT_SNAPSHOTS_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct job_run;
struct mr_options;

/* Make the clones that do not exist yet: their names are in r->snapshots. If
 * the user may not clone a table, that is noted, and the table itself is read.
 */
MUST_CHECK int input_snapshots_make(struct job_run *r, struct err *err);
/* Drop the clones of the job. */
void input_snapshots_drop(struct job_run *r);
/* Drop the clones of jobs that died and will not be resumed, in the store of
 * @o. Best effort. */
void input_snapshots_forget(const struct mr_options *o,
                            char *const *job_ids,
                            size_t count);

#endif /* MAPREDUCE_MASTER_INPUT_SNAPSHOTS_H */

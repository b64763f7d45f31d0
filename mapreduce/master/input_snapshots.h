/* What the tables a job reads were when it began: on a cell, tables of their
 * own, made of them by the cell's master, which share their files. They are
 * named by the job, so that a process that goes on with it finds them, and are
 * in the splits of the plan. (In a directory, quarry_pin() does the same.)
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

/* Make them, as far as they are not there: the names are in r->snapshots. One
 * that may not be made is noted, and the table itself read. */
MUST_CHECK int input_snapshots_make(struct job_run *r, struct err *err);
/* Drop them. */
void input_snapshots_drop(struct job_run *r);
/* Drop those of jobs that died and will not go on, in the store of @o. Best
 * effort. */
void input_snapshots_forget(const struct mr_options *o,
                            char *const *job_ids,
                            size_t count);

#endif /* MAPREDUCE_MASTER_INPUT_SNAPSHOTS_H */

/* The keys with which attempts of a job encrypt what they write for tables: the
 * changes that wait for the job's end, and the files of bulk loads.
 *
 * An attempt never gets a data key, only a key derived for one output of its
 * job (base/crypt/keyring.h): for changes from a key of the job master, for a
 * bulk load from one of the table's, by its server. Loans are written nowhere:
 * a resumed job takes new ones.
 *
 * One thread.
 */
#ifndef MAPREDUCE_MASTER_JOB_LOANS_H
#define MAPREDUCE_MASTER_JOB_LOANS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct job_run;
struct keyring;
struct task_spec;

/* Take a loan for each output that is a table. PRE: the store is open. Parks.
 * Errors: those of quarry_bulk_lend() and keyring_lend(). */
MUST_CHECK int job_loans_take(struct job_run *r, struct err *err);
void job_loans_close(struct job_run *r);
/* Copy the loans into @s, a task spec that is to be closed. */
void job_loans_copy(const struct job_run *r, struct task_spec *s);
/* The keys that decrypt the changes of output @index, also changes made before
 * a data key was rotated. Owned; NULL: they are not encrypted. */
struct keyring *job_loans_view(const struct job_run *r, unsigned index);

#endif /* MAPREDUCE_MASTER_JOB_LOANS_H */

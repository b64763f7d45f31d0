/* The keys that attempts of a job encrypt with what they write for tables: the
 * changes that wait for the job's end, and the files of bulk loads.
 *
 * An attempt gets none of the data keys, but one that is lent for an output of
 * its job (base/crypt/keyring.h): for changes of those that the job master has,
 * for a bulk load of those of the tables, by the table's server. Loans are
 * written nowhere: a job that is resumed asks for them again.
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

/* Have a loan for each output that is a table. PRE: the store is
 * open. Parks. Errors: those of quarry_bulk_lend() and keyring_lend(). */
MUST_CHECK int job_loans_take(struct job_run *r, struct err *err);
void job_loans_close(struct job_run *r);
/* Give them to an attempt: to @s, which is to be closed. */
void job_loans_copy(const struct job_run *r, struct task_spec *s);
/* What opens the changes of output @index, also those from before a data key
 * was rotated. Owned; NULL: they are not encrypted. */
struct keyring *job_loans_view(const struct job_run *r, unsigned index);

#endif /* MAPREDUCE_MASTER_JOB_LOANS_H */

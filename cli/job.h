/* Between job.c, which has the commands, job_run.c, which runs jobs, and
 * job_history.c, which tells of them. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "cli/command.h" /* struct option */

struct args;
struct cli;

/* Where jobs are remembered: beside the tables of the target, or for a cell in
 * the user's home. Owned. */
char *job_history_dir(const struct cli *cli);

/* ERR_NOTFOUND, with the jobs there are and the one that may be meant. */
int job_unknown(const char *name, struct err *err);

/* Running one: parks until it is done. */
extern const struct option job_run_options[];
MUST_CHECK int
job_run_run(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_resume(struct cli *cli, const struct args *args, struct err *err);

/* The other commands; each parks only as it reads the history's files. */
MUST_CHECK int
job_run_list(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_history(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_status(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_counters(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_kill(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_JOB_H */

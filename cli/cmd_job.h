/* Between cmd_job.c, which has the commands, cmd_job_run.c, which runs jobs,
 * and cmd_job_history.c, which reports them. */
#ifndef CLI_CMD_JOB_H
#define CLI_CMD_JOB_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/crypt/aead.h"
#include "bigtable/quarry.h"
#include "cli/command.h" /* struct option */
#include "cli/progress.h"
#include "mapreduce/job.h"
#include "mapreduce/records/files.h"

struct args;
struct cli;
struct job_entry;

/* Memory that the options of one `job run` borrow. */
struct job_command {
    struct cli *cli;         /* Borrowed. */
    const struct args *args; /* Borrowed. */
    struct mr_options options;
    const char **inputs; /* Owned arrays. */
    const char **outputs;
    struct mr_setting *params;      /* And the names in it. */
    struct mr_setting *files;       /* The same. */
    const struct job_entry *entry;  /* Of the catalogue, or NULL. */
    struct buf saw;                 /* Text of a Sawzall program. */
    char *history;                  /* Owned. */
    struct job_files history_files; /* Closed with it. */
    unsigned char scratch_key[AEAD_KEY_BYTES];
    struct quarry_options store_options; /* Of a cell. */
    char *target;                        /* The same; owned. */
    char *key_file;
    const char *hidden[1]; /* For options.hidden. */
    /* Of a job that is a part of a command: its report goes here, owned, and is
     * not printed; and it ends when the command is interrupted. NULL: neither.
     */
    struct mr_report **report;
    struct progress progress;
};

/* Where jobs are remembered: beside the tables of the target, or for a cell in
 * the user's home. Owned. */
char *job_history_dir(const struct cli *cli);
/* How they are read and written: a directory that is encrypted has keys for
 * them. Close it. Parks. Errors: those of keyring_open(). */
MUST_CHECK int
job_history_open(struct cli *cli, struct job_files *out, struct err *err);
void job_history_close(struct job_files *f);

/* ERR_NOTFOUND, with the jobs there are and the one that may be meant. */
int job_unknown(const char *name, struct err *err);

/* Running one: parks until it is done. */
extern const struct option job_run_options[];
MUST_CHECK int
job_run_run(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_resume(struct cli *cli, const struct args *args, struct err *err);

/* Telling of one that runs (@ctx is a struct job_command), and that has. */
void job_run_progress(void *ctx, const struct mr_progress *p);
void job_run_notes(const struct mr_report *r, const struct err *err);
void job_run_report(const struct job_command *c, const struct mr_report *r);

/* Is @name a job of the catalogue that is several, and if so: run it. */
bool job_run_is_driver(const char *name);
MUST_CHECK int job_run_drive(const char *name,
                             const struct mr_options *opts,
                             struct mr_report **report,
                             struct err *err);

/* --- on a cell (job_cell.c), by its job master, which is waited for ------ */

/* Does the target of @cli keep jobs, and not this machine (--here)? */
bool job_cell_asked(const struct cli *cli, const struct args *args);

/* Submit the job, and wait for its end. Parks. */
MUST_CHECK int job_cell_run(struct job_command *c, struct err *err);

struct job_summary;

/* Jobs that run, and the newest @ended_max that have ended; owned. Parks. */
MUST_CHECK int job_cell_list(struct cli *cli,
                             const struct args *args,
                             size_t ended_max,
                             struct job_summary **jobs,
                             size_t *count,
                             struct err *err);
/* One job; as job_history_get(). Parks. */
MUST_CHECK int job_cell_get(struct cli *cli,
                            const struct args *args,
                            const char *id,
                            struct job_summary **job,
                            struct err *err);
MUST_CHECK int job_cell_kill(struct cli *cli,
                             const struct args *args,
                             const char *id,
                             struct err *err);
struct attempt_record;
struct job_attempts;
/* The timeline of a job, borrowing from @bytes; and the log of attempt @a of
 * it. Park. */
MUST_CHECK int job_cell_attempts(struct cli *cli,
                                 const struct args *args,
                                 const char *id,
                                 uint64_t after,
                                 uint64_t limit,
                                 struct buf *bytes,
                                 struct job_attempts *out,
                                 struct err *err);
MUST_CHECK int job_cell_log(struct cli *cli,
                            const struct args *args,
                            const char *id,
                            const struct attempt_record *a,
                            struct buf *text,
                            struct err *err);
MUST_CHECK int
job_cell_workers(struct cli *cli, const struct args *args, struct err *err);
/* How many workers take tasks now, as the job master says; 0 also where none
 * answers within seconds. Parks. */
size_t job_cell_worker_count(struct cli *cli, const struct args *args);

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
job_run_attempts(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_log(struct cli *cli, const struct args *args, struct err *err);
MUST_CHECK int
job_run_kill(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_CMD_JOB_H */

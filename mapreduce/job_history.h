/* The history of jobs: one directory a job, with its state in job.json.
 *
 *     HISTORY_DIR/20261121-030500-1a2b/job.json
 *
 * job.json is replaced whole at every change, so that it can be read while the
 * job runs. `quarry job list|status|counters|history` read it here; `job kill`
 * leaves a file named "kill" beside it, which the running job looks for.
 *
 * Any thread; everything parks.
 */
#ifndef MAPREDUCE_JOB_HISTORY_H
#define MAPREDUCE_JOB_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "mapreduce/job.h"

struct buf;
struct job_files;

/* Jobs that a history in a directory keeps: each new job removes the oldest of
 * more. */
#define JOB_HISTORY_JOBS_MAX 1000

enum job_state {
    JOB_RUNNING,
    JOB_SUCCEEDED,
    JOB_FAILED,
    JOB_KILLED,
    JOB_LOST, /* Its file says that it runs, but its process is gone. */
};

/* Figures about the tasks of one phase. */
struct job_phase {
    char *name;
    uint64_t started_us; /* Wall clock. */
    uint64_t ended_us;
    unsigned tasks;
    unsigned attempts; /* Also failed ones and backups. */
    uint64_t mean_us;  /* Of the attempts that won. */
    uint64_t longest_us;
};

struct job_summary {
    char *id;
    char *name;      /* Label or the job's name. */
    char *principal; /* The submitter; NULL, "": not known. */
    enum job_state state;
    char *phase;          /* "map", "reduce", … */
    uint64_t started_us;  /* Wall clock. */
    uint64_t ended_us;    /* 0 while it runs. */
    uint64_t pid;         /* Of the process that runs it. */
    unsigned tasks_total; /* Of the phase; of a job that has ended, of all. */
    unsigned tasks_done;
    unsigned tasks_running;
    unsigned attempts_failed;
    char *waits;              /* The reason it waits; NULL: it does not. */
    char *error;              /* NULL unless it failed. */
    char *hint;               /* A way out; NULL: not known. */
    char *missing;            /* Input that no file matches; NULL: none. */
    int code;                 /* The error's. */
    struct job_phase *phases; /* That have ended, in order. */
    size_t phase_count;
    char **inputs;
    size_t input_count;
    char **outputs;
    size_t output_count;
    struct mr_counter_value *counters;
    size_t counter_count;
    char **notes;
    size_t note_count;
};

/* "running", "succeeded", and so on; never NULL. */
const char *job_state_name(enum job_state s);

/* All jobs, oldest first. *@jobs is owned: job_summaries_free(). A directory
 * whose job.json cannot be read is skipped. No directory: no jobs. */
MUST_CHECK int job_history_list(const struct job_files *files,
                                const char *history_dir,
                                struct job_summary **jobs,
                                size_t *count,
                                struct err *err);
/* One job; @id may be a unique prefix, or "last". Reads only the jobs that
 * match. ERR_NOTFOUND, ERR_INVALID
 * (several match). Owned: job_summaries_free(job, 1). */
MUST_CHECK int job_history_get(const struct job_files *files,
                               const char *history_dir,
                               const char *id,
                               struct job_summary **job,
                               struct err *err);
void job_summaries_free(struct job_summary *jobs, size_t count);

/* Ask a running job to stop; it does so within seconds. ERR_NOTFOUND;
 * ERR_INVALID: it does not run. */
MUST_CHECK int job_history_kill(const struct job_files *files,
                                const char *history_dir,
                                const char *id,
                                struct err *err);

/* All attempts of a job, as attempt_list_get() reads them, appended to @out.
 * *@id_out, its whole id, is owned. Errors: as job_history_get(), and
 * ERR_CORRUPT. No attempts: an older program ran it, or it still runs and has
 * not written any.
 */
MUST_CHECK int job_history_attempts(const struct job_files *files,
                                    const char *history_dir,
                                    const char *id,
                                    char **id_out,
                                    struct buf *out,
                                    struct err *err);
struct attempt_record;
/* The end of the output of attempt @a, one that failed, appended to @out.
 * ERR_NOTFOUND: it is not kept. */
MUST_CHECK int job_history_log(const struct job_files *files,
                               const char *history_dir,
                               const char *id,
                               const struct attempt_record *a,
                               struct buf *out,
                               struct err *err);

/* Text of job.json for @job, appended to @out; and the reverse (ERR_CORRUPT).
 */
void job_summary_encode(const struct job_summary *job, struct buf *out);
MUST_CHECK int
job_summary_decode(struct slice text, struct job_summary *job, struct err *err);

#endif /* MAPREDUCE_JOB_HISTORY_H */

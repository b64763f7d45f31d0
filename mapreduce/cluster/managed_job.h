/* One job that the master of a cell keeps: from its submission, through the
 * thread that runs it, to its place in the history. Private to the job master.
 *
 * Invariants
 *
 * INV-1. States only advance: waiting, running, ended, history (managed_job.c).
 * INV-2. `summary` and the fields after it are read and written under the
 * term's mutex.
 *
 * Threads: made and freed on the master's loop; the job runs on a task of its
 * own.
 */
#ifndef MAPREDUCE_CLUSTER_MANAGED_JOB_H
#define MAPREDUCE_CLUSTER_MANAGED_JOB_H

#include <stdatomic.h>

#include "base/runtime/sync.h"
#include "mapreduce/cluster/job_calls.h"
#include "mapreduce/cluster/job_master.h"
#include "mapreduce/job_history.h"
#include "mapreduce/records/files.h"
#include "mapreduce/task/saved_job.h"

struct job_timeline;
struct task;
struct worker_pool;

/* Shared by all jobs while this process is the job master. */
struct job_master_term {
    struct world *world;
    const struct job_master_options *options; /* Borrowed. */
    struct job_files files;
    struct worker_pool *pool; /* Borrowed. */
    struct mutex mutex;
    struct cond changed;      /* There are news of a job, or the term ended. */
    atomic_bool over;         /* The lock is lost, or the process ends. */
    atomic_bool in_danger;    /* The lock service does not answer. */
    struct managed_job *jobs; /* Oldest first. Owned. */
    struct managed_job **last;
    uint64_t versions; /* The last version of news given out. */
    uint32_t running;
};

enum managed_state {
    MANAGED_WAITING, /* For others to end. */
    MANAGED_RUNNING,
    MANAGED_ENDED,  /* Its task has returned and is to be joined. */
    MANAGED_HISTORY /* Joined. */
};

struct managed_job {
    struct job_master_term *term; /* Borrowed. */
    struct managed_job *next;
    struct saved_job submitted; /* Options. Owned. */
    char *id;                   /* Owned. */
    char *principal;            /* The submitter. Owned; "": not known. */
    int priority;
    uint32_t weight;
    uint32_t slots_max;
    bool resumed; /* Another process began it. */
    struct task *task;
    atomic_bool cancel;
    uint64_t submitted_us;
    struct mr_trace trace;         /* Its ids: when it runs. */
    struct job_timeline *timeline; /* Until it is in the history; then NULL.
                                      Owned. */
    /* Under the mutex: */
    enum managed_state state;
    uint64_t version;
    struct mr_progress progress;
    struct buf summary; /* job.json; empty: nothing is known yet. */
    const char
        *waiting; /* The reason it waits, before there is a summary. Static. */
    char phase[16];  /* Of the summary, */
    char waits[128]; /* and the reason its tasks wait. */
};

/* Add @s, which was decoded from @bytes, to the term; both are copied.
 * ERR_INVALID, ERR_CORRUPT. *@out is owned by the term's list. */
MUST_CHECK int managed_job_add(struct job_master_term *r,
                               const struct job_submission *s,
                               bool resumed,
                               struct managed_job **out,
                               struct err *err);
void managed_job_free(struct managed_job *j); /* PRE: not running. */

/* Append its progress, in a line without its end: "ID NAME: map, 3 of 9 tasks
 * done, 2 run; 4 tasks wait: all slots are taken". */
void managed_job_describe(struct managed_job *j, struct buf *out);

/* Do its tasks wait for something, while none of them runs? Any thread. */
bool managed_job_stalls(struct managed_job *j);

/* Start the jobs that may run; join those that have ended. Parks. */
void managed_jobs_schedule(struct job_master_term *r);
/* Wait for all tasks: unfinished jobs are left to the next master. Parks. */
void managed_jobs_end(struct job_master_term *r);

/* Free the timelines of jobs that are in the history, where they are read. PRE:
 * no call is being answered. */
void managed_jobs_drop_timelines(struct job_master_term *r);

/* The news of @j; its summary is appended to @json. Any thread. */
void managed_job_news(struct managed_job *j,
                      struct job_news *out,
                      struct buf *json);
/* Request the end of @j, and record the request. Parks. ERR_INVALID: it has
 * ended. */
MUST_CHECK int managed_job_kill(struct managed_job *j, struct err *err);

#endif /* MAPREDUCE_CLUSTER_MANAGED_JOB_H */

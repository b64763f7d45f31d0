/* One job while it runs: the state that planning, the phases and the commit
 * share. Private to this directory. cluster/ alone may include headers of
 * master/: a job in one process and a job in a cell run the same code.
 *
 * Invariants
 *
 * INV-1. The journal records a task's end only after its files have their names
 *        (attempt_end.c), and a commit only after all tasks are done
 *        (finish.c).
 * INV-2. skips_left <= skips_max (task_table.c).
 * INV-3. tasks_done <= tasks_total in progress (job_report.c).
 *
 * One thread.
 */
#ifndef MAPREDUCE_MASTER_JOB_RUN_H
#define MAPREDUCE_MASTER_JOB_RUN_H

#include "mapreduce/input/input.h"
#include "mapreduce/job.h"
#include "mapreduce/job_history.h"
#include "mapreduce/master/job_replay.h"
#include "mapreduce/master/job_timeline.h"
#include "mapreduce/master/journal.h"
#include "mapreduce/task/host.h"
#include "mapreduce/task/task.h"

struct file_lock;
struct quarry;
struct task_table;

struct job_run {
    const struct mr_options *opts;
    struct job_setup setup;
    struct world *own_world; /* NULL: the caller's. */
    char *job_dir;           /* Of the history. */
    char *keep_dir;          /* Journal, changes of tables. In the world the
                                same as setup.work_dir. */
    bool dir_is_temporary;
    bool staging_made;
    bool given_up; /* Another process has taken over: nothing is removed. */
    struct file_lock **locks; /* Of the staging directories, then of the work
                                 directory; NULL: not held. Owned. */
    struct attempt_host *host;
    struct quarry *store; /* NULL: no tables. */
    struct quarry *own_store;
    bool pinned;
    struct key_loan *loans; /* An output: see job_loans.h. Owned; NULL: none. */
    char **snapshots; /* Of inputs: see input_snapshots.h. Owned; NULL: none. */
    struct input_splits splits;
    unsigned partition_count;
    struct buf sample;  /* Keys, as lslices. */
    struct slice *cuts; /* Total order. */
    size_t cut_count;
    struct task_spill *spills; /* Of maps that left one, by task. */
    size_t spill_count;
    struct counters counters;
    unsigned skips_left;
    unsigned skips_max;
    struct job_summary summary;    /* For the history. */
    struct job_timeline *timeline; /* NULL: none is kept. */
    struct job_timeline *own_timeline;
    uint32_t part; /* Of the timeline. */
    struct mr_progress progress;
    unsigned phases_tasks; /* Of the phases that have ended, */
    unsigned phases_done;  /* and those of them that are done. */
    struct journal journal;
    struct replay *replay;   /* Of a resumed job; else NULL. Borrowed. */
    unsigned tasks_restored; /* From it. */
    struct buf waits_for;    /* The reason that tasks wait, in a sentence;
                                empty: none does. */
    uint64_t started_ns;     /* Monotonic. */
    uint64_t told_ns;        /* When progress was last reported. */
    uint64_t phase_us;       /* Wall clock, when the phase began. */
    uint64_t saved_ns;       /* When the history was last written. */
};

/* Build setup, names of directories and the host; check everything that can be
 * wrong before anything is changed. Parks. */
MUST_CHECK int job_prepare(struct job_run *r, struct err *err);
/* Open the store, make directories, cut the inputs into splits; the plan is in
 * the journal afterwards. Parks. */
MUST_CHECK int job_plan(struct job_run *r, struct err *err);
/* Run all tasks: sampling, maps, reduces. Parks. */
MUST_CHECK int job_phases(struct job_run *r, struct err *err);
/* Publish the outputs. PRE: all tasks are done. Parks. */
MUST_CHECK int job_commit(struct job_run *r, struct err *err);
/* Close everything and remove what is temporary. Parks. */
void job_cleanup(struct job_run *r);

/* Report progress and write the history, if it is time or @now. */
void job_report(struct job_run *r, bool now);
/* Add the figures of the phase's tasks to the history. */
void job_end_phase(struct job_run *r, const struct task_table *tasks);
void job_set_phase(struct job_run *r, enum mr_phase phase, unsigned tasks);
/* ERR_CANCELLED when the caller or `quarry job kill` wants it. */
MUST_CHECK int job_check_cancel(struct job_run *r, struct err *err);
/* Keep a sentence for the report. Notes beyond 100 are dropped. */
void job_note(struct job_run *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Describe in the summary what tasks wait for. */
void job_describe_wait(struct job_run *r);
/* Write the summary into the job's directory; best effort. */
void job_history_save(struct job_run *r);

/* Keys that cut the sample (lslices) into @parts about equal parts, fewer if it
 * has fewer different keys. *@cuts is owned, its bytes are those of @sample. */
void job_choose_cuts(struct slice sample,
                     unsigned parts,
                     bool descending,
                     struct slice **cuts,
                     size_t *count);

#endif /* MAPREDUCE_MASTER_JOB_RUN_H */

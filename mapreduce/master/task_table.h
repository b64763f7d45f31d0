/* The tasks of a phase and the attempts at them, as state machines: which tasks
 * wait, run and are done, and what follows from the end of an attempt. Pure
 * bookkeeping: no clock and no I/O; times come from the caller.
 *
 *     task:     waiting --start--> running --an attempt succeeds--> done
 *                  ^                  |                               |
 *                  +--its last one failed, or was lost---+            |
 *                  +--its output was lost with its worker-------------+
 *     attempt:  running --> stopping (another won, or it is silent) --> gone
 *
 * A task has at most two live attempts: the second is a backup. The first to
 * succeed wins; the other is stopped, and its end changes nothing.
 *
 * Invariants, kept by task_table.c
 *     INV-1. A waiting task has no live attempt.
 *     INV-2. `waiting` + `running` + `done` = `count`.
 *     INV-3. An attempt ends once, and a task has one winner: each end removes
 *            the attempt from the live ones, and only a task that is not done
 *            accepts one.
 *     INV-4. `backups` <= `live`, and `live` is the sum over the tasks.
 *
 * One thread.
 */
#ifndef MAPREDUCE_MASTER_TASK_TABLE_H
#define MAPREDUCE_MASTER_TASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"

#define TASK_LIVE_MAX  2
#define TASK_AVOID_MAX 4
#define TASK_HOSTS_MAX 3
#define TASK_NONE      UINT32_MAX

enum task_state {
    TASK_WAITING,
    TASK_RUNNING,
    TASK_DONE
};

enum attempt_state {
    ATTEMPT_RUNNING,
    ATTEMPT_SILENT,  /* To be stopped: it made no progress for too long. */
    ATTEMPT_OUTRUN,  /* To be stopped: another attempt has won. */
    ATTEMPT_STOPPING /* Stop was sent; its end follows. */
};

struct task_attempt {
    uint32_t number; /* From 1. */
    uint32_t worker;
    enum attempt_state state;
    bool backup;
    bool silent; /* Why it is stopped. */
    uint64_t started_us;
    uint64_t moved_us; /* When it was last seen to make progress. */
    uint32_t done_ppm; /* Of its work, in millionths; 0: not known. */
};

struct task_entry {
    enum task_state state;
    uint32_t attempts; /* Started so far. */
    bool counted;      /* The results of an attempt were taken. */
    uint32_t failures; /* That count against attempts_max. */
    uint32_t winner;   /* The attempt that succeeded, */
    uint32_t winner_worker;
    struct task_attempt live[TASK_LIVE_MAX];
    uint32_t live_count;
    uint32_t avoid[TASK_AVOID_MAX]; /* Workers it failed on, newest last. */
    uint32_t avoid_count;
    uint32_t hosts[TASK_HOSTS_MAX]; /* Where its input is. */
    uint32_t host_count;
    uint32_t home;   /* The worker that gathers its input before it starts
                        (early_pull.h); TASK_NONE. */
    uint64_t *skips; /* Records to skip. Owned. */
    size_t skip_count;
    uint64_t *group_skips; /* Groups to skip. Owned. */
    size_t group_skip_count;
    uint32_t next; /* Of the waiting, or of the running; TASK_NONE. */
    uint32_t prev;
};

/* Tasks with input on a host, ascending. */
struct host_tasks {
    uint32_t *tasks; /* Owned. */
    uint32_t count;
    uint32_t cap;
    uint32_t next; /* None before it waits. */
};

struct task_table {
    struct task_entry *tasks; /* Owned. */
    uint32_t count;
    uint32_t waiting;
    uint32_t running;
    uint32_t done;
    uint32_t backups; /* Live ones. */
    uint32_t live;    /* Attempts, also those that are stopping. */
    uint32_t first;   /* Of the waiting. */
    uint32_t last;
    uint32_t first_live; /* Of the tasks with live attempts. */
    bool has_homes;      /* Some task has one. */
    uint64_t took_us;    /* Sum over the attempts that won. */
    uint64_t longest_us; /* Of them. */
    uint32_t started;    /* Attempts. */
    uint32_t took_count;
    uint32_t attempts_max;
    unsigned *skips_left;       /* Of the whole job. Borrowed. */
    struct host_tasks *by_host; /* Owned. */
    uint32_t host_count;
};

/* How an attempt ended. */
struct task_outcome {
    bool ok;
    bool lost;      /* With its worker: not the task's fault. */
    bool permanent; /* Another attempt would fail in the same way. */
    bool at_record; /* It died inside the job's code, at record number */
    bool reducing;  /* (of the groups, that is) */
    uint64_t number;
};

enum task_verdict {
    TASK_ACCEPT,     /* It is done. */
    TASK_LATE,       /* Another attempt was first: nothing changes. */
    TASK_RETRY,      /* It waits again, or its other attempt continues. */
    TASK_RETRY_SKIP, /* The same, and the next will skip the record. */
    TASK_GIVE_UP,    /* The job fails. */
};

void task_table_init(struct task_table *t,
                     uint32_t count,
                     uint32_t attempts_max,
                     unsigned *skips_left);
void task_table_close(struct task_table *t);

/* The input of @task is on @host (counted from 0). At most TASK_HOSTS_MAX per
 * task are kept. */
void task_table_place(struct task_table *t, uint32_t task, uint32_t host);
/* A waiting task with input on @host, or TASK_NONE. Changes nothing but a
 * cursor. */
uint32_t task_table_local(const struct task_table *t, uint32_t host);

/* Worker @home (TASK_NONE: none) gathers the input of @task. */
void task_table_set_home(struct task_table *t, uint32_t task, uint32_t home);

/* Start an attempt at a waiting task, or a backup of a running one. Returns its
 * number. PRE: the task is not done, and has at most one live attempt. */
uint32_t task_table_start(struct task_table *t,
                          uint32_t task,
                          uint32_t worker,
                          uint64_t now_us);
/* The live attempt @number of @task, borrowed; NULL: there is none. */
struct task_attempt *
task_table_attempt(struct task_table *t, uint32_t task, uint32_t number);
/* Enter the progress that a worker reports of a live attempt. */
void task_attempt_progress(struct task_attempt *a,
                           uint32_t done_ppm,
                           bool moved,
                           uint64_t now_us);

/* Enter the end of a live attempt; the verdict says what follows. An attempt is
 * counted once (INV-3). PRE: it is live. */
enum task_verdict task_table_end(struct task_table *t,
                                 uint32_t task,
                                 uint32_t number,
                                 const struct task_outcome *outcome,
                                 uint64_t now_us);
/* @worker is gone: its attempts are lost, and with @outputs the results of
 * tasks that were done there, which wait again. Returns how many do. */
uint32_t
task_table_lose_worker(struct task_table *t, uint32_t worker, bool outputs);

/* The output of attempt @number of @task, if it was the winner, is lost: the
 * task waits again. */
void task_table_lose_output(struct task_table *t,
                            uint32_t task,
                            uint32_t number);

/* For a resumed job: @task was done by attempt @number, and its output is on
 * @worker (TASK_NONE: on no particular one). PRE: it waits. */
void task_table_restore(struct task_table *t,
                        uint32_t task,
                        uint32_t number,
                        uint32_t worker);

#endif /* MAPREDUCE_MASTER_TASK_TABLE_H */

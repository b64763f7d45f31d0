/* One phase of a job on a host: shared by phases.c, which runs it, and
 * attempt_end.c, which judges how attempts ended.
 *
 * Invariant INV-1: a slot's attempt is live in the task table of its stage
 * until its event was entered (phases.c, attempt_end.c).
 *
 * One thread.
 */
#ifndef MAPREDUCE_MASTER_PHASE_H
#define MAPREDUCE_MASTER_PHASE_H

#include "mapreduce/master/early_pull.h"
#include "mapreduce/master/job_run.h"
#include "mapreduce/master/job_timeline.h"
#include "mapreduce/master/schedule.h"
#include "mapreduce/task/host.h"

/* The tasks of one kind, which are one job to the scheduler. */
struct stage {
    enum task_kind kind;
    uint32_t job; /* Its number to the scheduler. */
    struct task_table tasks;
    uint64_t records_done; /* Of ended attempts that won. */
    uint64_t bytes_done;
};

/* An attempt in a slot. On one machine the scheduler's worker number is the
 * slot's. */
struct running {
    struct stage *stage; /* NULL: the slot is free. */
    unsigned task;
    unsigned attempt;
    uint32_t worker;
    uint64_t seen_records; /* As its status showed when it was last read. */
    uint64_t seen_bytes;
    uint64_t seen_values;
    size_t timeline_index; /* The attempt's in the job's timeline. */
    uint64_t begun_at_us;  /* Wall clock. */
    bool backup;
};

/* While reduces run, maps whose output is lost run again beside them, and no
 * further reduce starts until they are done. */
struct phase {
    struct job_run *run;
    struct sched sched;      /* Of the one or two stages. */
    struct stage *stage;     /* The stage that the phase is for. */
    struct stage *maps;      /* Of a phase of reduces; else NULL. */
    struct early_pull *pull; /* Of a phase of maps; NULL: none. Borrowed. */
    uint64_t told_us;        /* When workers last got orders. */
    struct running *slots;   /* host->slot_count of them. */
    unsigned slots_touched;  /* Slots from here on were never used. */
};

/* Enter the end of an attempt: take its results, note its failure, or find that
 * the job must fail. For a worker's end: tasks that are lost with it wait
 * again. Parks. */
MUST_CHECK int
phase_take_end(struct phase *p, struct attempt_event *e, struct err *err);

/* Attempt @at has ended: its span goes to the job's trace. */
void phase_span_attempt(const struct phase *p,
                        const struct running *at,
                        const struct attempt_ending *e);

/* The worker of @e is gone, with its attempts and their spills. */
void phase_lose_worker(struct phase *p, const struct attempt_event *e);

/* Mark the tasks as done that the journal of a resumed job has. Parks. */
MUST_CHECK int phase_restore(struct phase *p, struct err *err);

#endif /* MAPREDUCE_MASTER_PHASE_H */

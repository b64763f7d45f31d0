/* One phase of a job on a host: between phases.c, which runs it, and
 * attempt_end.c, which judges how attempts ended. One thread. */
#ifndef MAPREDUCE_MASTER_PHASE_H
#define MAPREDUCE_MASTER_PHASE_H

#include "mapreduce/master/job_run.h"
#include "mapreduce/master/schedule.h"
#include "mapreduce/worker/host.h"

/* An attempt in a slot. The scheduler's worker number is the slot's. */
struct running {
    bool busy;
    unsigned task;
    unsigned attempt;
    uint64_t seen_records; /* What its status showed last. */
    uint64_t seen_bytes;
    uint64_t seen_values;
};

struct phase {
    struct job_run *run;
    enum task_kind kind;
    struct task_table tasks;
    struct sched sched;    /* Of this one job. */
    struct running *slots; /* host->slot_count of them. */
    uint64_t records_done; /* Of ended attempts that won. */
    uint64_t bytes_done;
};

/* Enter the end of an attempt: take its results, note its failure, or find that
 * the job must fail. */
MUST_CHECK int
phase_take_end(struct phase *p, struct attempt_event *e, struct err *err);

/* Take the tasks that the journal of a resumed job says were done. */
MUST_CHECK int phase_restore(struct phase *p, struct err *err);

#endif /* MAPREDUCE_MASTER_PHASE_H */

/* The struct mr_task of mapreduce.h: one attempt at one task, as the code of
 * the job sees it.
 *
 * The attempt (attempt/attempt.c) owns it and what it points to. Its functions
 * that need no more than what is here are in task.c; those that emit, write and
 * read values are in attempt/attempt_emit.c and attempt/values.c, since they
 * need the shuffle and the outputs.
 *
 * task/ stands on records/; every room above may include it.
 *
 * Invariants
 *     INV-1. At most one of collector and sample is set, both in maps only
 *            (attempt.c sets them, attempt_emit.c checks).
 *     INV-2. code, once not 0, stays: the first misuse is reported.
 *
 * One thread.
 */
#ifndef MAPREDUCE_TASK_TASK_H
#define MAPREDUCE_TASK_TASK_H

#include "mapreduce/mapreduce.h"
#include "mapreduce/task/job_setup.h"
#include "mapreduce/task/status.h"
#include "mapreduce/task/task_counters.h"

struct collector;
struct output_set;

struct mr_task {
    const struct job_setup *setup;
    bool is_map;
    unsigned index;
    unsigned attempt;
    unsigned partition_count;
    void *state;
    const char *input_path; /* Of the split at hand; borrowed. */
    struct counters counters;
    struct task_status *status;  /* Shared with the job master. */
    struct collector *collector; /* Of a map task with reducers; else NULL. */
    struct output_set *outputs;  /* Of the task that writes; else NULL. */
    struct buf *sample;          /* Of a sampling task: keys, as lslices. */
    uint64_t sample_left;        /* Bytes it may still take. */
    int code;                    /* The first misuse; sticky. */
    struct err err;
};

/* Record that the job's code @did something it must not ("emitted from a
 * reducer"), unless an earlier misuse is recorded. */
void task_misuse(struct mr_task *t, const char *did);

#endif /* MAPREDUCE_TASK_TASK_H */

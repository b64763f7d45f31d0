/* The struct mr_values of mapreduce.h: the values of one key in a reduce task,
 * read from the merge of the task's sorted runs as the job asks for them.
 *
 * Nothing is kept of a value that was given out, so that a group may be larger
 * than memory (MapReduce, OSDI 2004, section 2).
 *
 * Invariants
 *     INV-1. key is of the group: its grouped part equals `group`.
 *     INV-2. ended, once set, stays until values_start().
 *
 * One thread; what advances the merge parks.
 */
#ifndef MAPREDUCE_ATTEMPT_VALUES_H
#define MAPREDUCE_ATTEMPT_VALUES_H

#include "mapreduce/shuffle/run_merge.h"
#include "mapreduce/task/task.h"

/* The values of a group, over a merge whose current pair is its first. */
struct mr_values {
    struct run_merge *merge;
    struct mr_task *task;
    struct buf group; /* The key, or its grouped part. */
    struct slice key; /* Of the value last given. */
    bool first;       /* The current pair is not given out yet. */
    bool ended;       /* The current pair is of another group, or none. */
    bool more;        /* There is a current pair. */
    uint64_t count;   /* Values given out, all groups. */
    int code;         /* Of the merge; sticky. */
    struct err err;
};

/* Begin with the group of the merge's current pair. */
void values_start(struct mr_values *v);
/* Skip the values of the group that the job did not read. */
void values_drain(struct mr_values *v);
/* Release the buffer of the group; the merge is the caller's. */
void values_close(struct mr_values *v);

#endif /* MAPREDUCE_ATTEMPT_VALUES_H */

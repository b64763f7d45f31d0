/* Which tasks of a phase wait, run and are done, and what follows from the end
 * of an attempt: pure bookkeeping, no clock and no I/O. One thread. */
#ifndef MAPREDUCE_MASTER_TASK_TABLE_H
#define MAPREDUCE_MASTER_TASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum task_state {
    TASK_WAITING,
    TASK_RUNNING,
    TASK_DONE
};

struct task_entry {
    enum task_state state;
    unsigned attempts; /* Started so far. */
    unsigned failures; /* That count against attempts_max. */
    unsigned winner;   /* The attempt that succeeded. */
    uint64_t *skips;   /* Records not to touch. Owned. */
    size_t skip_count;
    uint64_t *group_skips; /* Groups not to touch. Owned. */
    size_t group_skip_count;
};

struct task_table {
    struct task_entry *tasks; /* Owned. */
    unsigned count;
    unsigned done;
    unsigned running;
    unsigned next; /* No task below it waits. */
    unsigned attempts_max;
    unsigned *skips_left; /* Of the whole job. Borrowed. */
};

/* How an attempt ended. */
struct task_outcome {
    bool ok;
    bool permanent; /* Another attempt would fail in the same way. */
    bool at_record; /* It died inside the job's code, at record number */
    bool reducing;  /* (of the groups, that is) */
    uint64_t number;
};

enum task_verdict {
    TASK_ACCEPT,     /* It is done. */
    TASK_RETRY,      /* It waits again. */
    TASK_RETRY_SKIP, /* It waits again and will skip the record. */
    TASK_GIVE_UP,    /* The job fails. */
};

void task_table_init(struct task_table *t,
                     unsigned count,
                     unsigned attempts_max,
                     unsigned *skips_left);
void task_table_close(struct task_table *t);

/* Take the next waiting task, which then runs; false: none waits. */
bool task_table_take(struct task_table *t, unsigned *task);
/* The running attempt of @task has ended. */
enum task_verdict task_table_end(struct task_table *t,
                                 unsigned task,
                                 const struct task_outcome *outcome);

#endif /* MAPREDUCE_MASTER_TASK_TABLE_H */

/* What is behind the struct mr_task of mapreduce.h: one attempt at one task, as
 * seen by the code of the job, and the settings all attempts of a job share.
 *
 * One thread.
 */
#ifndef MAPREDUCE_TASK_TASK_H
#define MAPREDUCE_TASK_TASK_H

#include "base/crypt/aead.h"
#include "mapreduce/job.h"
#include "mapreduce/mapreduce.h"
#include "mapreduce/records/files.h"
#include "mapreduce/shuffle/collector.h"
#include "mapreduce/shuffle/run_merge.h"
#include "mapreduce/task/counters.h"
#include "mapreduce/task/status.h"

struct cage_rules;
struct output_set;

/* All a worker must know of a job besides its tasks. Built by the job master
 * before it starts workers; read-only afterwards. */
struct job_setup {
    const struct mr_job *job;
    const struct mr_options *opts; /* Borrowed. */
    struct world *world;
    struct job_files files; /* Inputs, outputs, staging directories. An attempt
                               elsewhere opens a file system of its own. */
    const char *target;     /* Store of tables, or NULL. */
    struct mr_spec *inputs;
    struct mr_spec *outputs;
    char **staging; /* A directory an output. */
    size_t output_count;
    char *job_id;
    char *work_dir; /* Spills and reports. */
    bool encrypts;  /* Spills, with this key, which is written nowhere: */
    unsigned char spill_key[AEAD_KEY_BYTES];
    unsigned char scratch_key[AEAD_KEY_BYTES]; /* Of SPECs with `scratch`. */
    int64_t job_time_us;
    uint64_t slot_bytes; /* Memory of an attempt for pairs. */
    uint64_t heap_bytes;
    uint64_t split_bytes;
    unsigned worker_count;
    bool reads_tables;
    bool remote;         /* The store is a cell's: reached by connections. */
    bool threads_before; /* The store is open in this process. */
    bool user_files;     /* Its user runs it on this machine: his code may see
                            the directory where he is. */
    bool weak_sandbox;   /* The administrator lets user code run where the
                            kernel cannot confine it. */
    const struct cage_rules *cage; /* For what an attempt starts; NULL: none. */
    bool relayed; /* Of an attempt that is not trusted: its worker opens for it
                     what it reads and writes, files and rows. */
    bool cell_files; /* Of a package: files are those of a cell, which
                        whoever runs attempts opens. */
};

/* Are tables written as SSTables? */
static inline bool job_setup_loads(const struct job_setup *s)
{
    bool loads = false;
    for (size_t i = 0; i < s->output_count; i++)
        loads = loads || s->outputs[i].bulk;
    return loads;
}

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

/* The first error of anything the job's code did, or 0. */
int task_error(const struct mr_task *t, struct err *err);

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
/* Pass over what the job left of the group. */
void values_drain(struct mr_values *v);
void values_close(struct mr_values *v);

#endif /* MAPREDUCE_TASK_TASK_H */

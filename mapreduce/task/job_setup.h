/* The settings that all attempts of a job share.
 *
 * Made by the job master before it starts attempts, or read from a package
 * (job_package.h) by a worker; read-only afterwards, and so shared by all
 * threads.
 */
#ifndef MAPREDUCE_TASK_JOB_SETUP_H
#define MAPREDUCE_TASK_JOB_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypt/aead.h"
#include "mapreduce/job.h"
#include "mapreduce/records/files.h"

struct cage_rules;

/* Everything an attempt must know of its job, besides its task. */
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
    bool encrypts;  /* Spills are encrypted with this key, which is written
                       nowhere: */
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
    bool user_files; /* The user runs it on this machine: the job's code may see
                        the user's working directory. */
    bool weak_sandbox; /* The administrator lets user code run where the
                          kernel cannot confine it. */
    const struct cage_rules *cage; /* For what an attempt starts; NULL: none. */
    bool relayed;    /* For attempts that are not trusted: the worker opens the
                        files and reads the rows for them. */
    bool cell_files; /* From a package: files are those of a cell, which the
                        process that runs attempts opens. */
};

/* Does an output write its table as SSTables? */
static inline bool job_setup_loads(const struct job_setup *s)
{
    bool loads = false;
    for (size_t i = 0; i < s->output_count; i++)
        loads = loads || s->outputs[i].bulk;
    return loads;
}

#endif /* MAPREDUCE_TASK_JOB_SETUP_H */

/* One attempt at one task, from its spec to its report: the part of the runtime
 * that calls the code of the job. Runs in a process of its own, or in the job
 * master's with --local.
 *
 * One thread; parks. An attempt changes nothing that others see: its files bear
 * its name, and the job master renames those of one attempt per task.
 */
#ifndef MAPREDUCE_ATTEMPT_ATTEMPT_H
#define MAPREDUCE_ATTEMPT_ATTEMPT_H

#include "mapreduce/task/task.h"
#include "mapreduce/task/task_spec.h"

struct quarry;

struct attempt_resources {
    char *memory; /* For pairs; aligned to 4096. Borrowed. */
    size_t memory_bytes;
    struct task_status *status; /* Borrowed. */
    struct quarry *store;       /* NULL: opened here, if tables are read. */
};

/* Run the attempt. Its result, or error, is in the report, which the caller has
 * initialised and closes. Parks. */
void attempt_run(const struct job_setup *setup,
                 const struct task_spec *spec,
                 const struct attempt_resources *resources,
                 struct task_report *report);

/* The store of the tables that attempts of @setup read, opened on behalf of the
 * job's submitter. *@out is owned. Parks. */
MUST_CHECK int attempt_store_open(const struct job_setup *setup,
                                  struct quarry **out,
                                  struct err *err);

#endif /* MAPREDUCE_ATTEMPT_ATTEMPT_H */

/* The most that an administrator lets jobs of a cell ask for: checked when a
 * job is submitted, and again by each worker against its own settings.
 *
 * Threads: any; nothing here parks.
 */
#ifndef MAPREDUCE_TASK_CAPS_H
#define MAPREDUCE_TASK_CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct mr_options;

/* A zeroed struct allows everything. */
struct job_caps {
    uint64_t memory_max; /* Bytes that a job's own code may use in an attempt;
                            0: any number. */
    unsigned processes_max; /* That an attempt may start; 0: any number. */
    bool no_network;        /* Attempts open no sockets. */
    bool sandbox_always;    /* Attempts without a sandbox are refused, */
    bool no_objects;        /* and so are jobs that are shared objects. */
};

/* ERR_DENIED: the text has what was asked for and the bound, the hint the
 * setting. Nothing is owned. */
MUST_CHECK int job_caps_check(const struct job_caps *caps,
                              const struct mr_options *o,
                              struct err *err);

#endif /* MAPREDUCE_TASK_CAPS_H */

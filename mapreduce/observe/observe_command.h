/* Observers whose programs the library does not run. Commands and Python
 * functions are processes that read a line of JSON for each row, and answer
 * with a line of JSON; a job is one of those that are built in, and runs in
 * this process. docs/observers.md has the forms.
 *
 * Threads: the engines are those of bigtable/observer/observer_code.h.
 */
#ifndef MAPREDUCE_OBSERVE_OBSERVE_COMMAND_H
#define MAPREDUCE_OBSERVE_OBSERVE_COMMAND_H

#include <stdbool.h>

#include "bigtable/observer/observer_code.h"

/* Allowed by this process: observer_kind.host. */
struct mr_job;

struct observe_host {
    bool weak_sandbox; /* Where the kernel has no namespaces. */
    bool no_sandbox;   /* No cage at all. */
    /* The job of a name that may run row by row; NULL: there is none. */
    const struct mr_job *(*find_job)(const char *name);
};

extern const struct observer_engine observe_command;
extern const struct observer_engine observe_python;
extern const struct observer_engine observe_job; /* observe_job.c */

#endif /* MAPREDUCE_OBSERVE_OBSERVE_COMMAND_H */

/* Observers that are commands or Python functions: processes that read a line
 * of JSON for each row, and answer with a line of JSON. docs/observers.md has
 * both forms.
 *
 * Threads: the engines are those of bigtable/observer/observer_code.h.
 */
#ifndef MAPREDUCE_OBSERVE_OBSERVE_COMMAND_H
#define MAPREDUCE_OBSERVE_OBSERVE_COMMAND_H

#include <stdbool.h>

#include "bigtable/observer/observer_code.h"

/* Allowed by this process: observer_kind.host. */
struct observe_host {
    bool weak_sandbox; /* Where the kernel has no namespaces. */
    bool no_sandbox;   /* No cage at all. */
};

extern const struct observer_engine observe_command;
extern const struct observer_engine observe_python;

#endif /* MAPREDUCE_OBSERVE_OBSERVE_COMMAND_H */

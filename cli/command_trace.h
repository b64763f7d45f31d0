/* The trace of a command: a command of a cluster is the root of all calls that
 * it makes, or a child of $TRACEPARENT, as other tools set it. */
#ifndef CLI_COMMAND_TRACE_H
#define CLI_COMMAND_TRACE_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct cli;
struct command;

/* Run @c in a trace of its own. Its spans are exported if the environment says
 * where to (trace_export.h). Parks. Errors: those of the command. */
MUST_CHECK int command_run_traced(struct cli *cli,
                                  const struct command *c,
                                  const struct args *args,
                                  struct err *err);

#endif /* CLI_COMMAND_TRACE_H */

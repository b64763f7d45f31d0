/* The commands of streams that servers run; their table is in
 * cmd_replication.c.
 *
 * Threads: one.
 */
#ifndef CLI_CMD_REPLICATION_STREAMS_H
#define CLI_CMD_REPLICATION_STREAMS_H

#include "base/core/err.h"
#include "cli/command.h"

extern const struct option replication_create_options[];

/* As struct command's run. */
int replication_run_create(struct cli *cli,
                           const struct args *args,
                           struct err *err);
int replication_run_list(struct cli *cli,
                         const struct args *args,
                         struct err *err);
int replication_run_pause(struct cli *cli,
                          const struct args *args,
                          struct err *err);
int replication_run_resume(struct cli *cli,
                           const struct args *args,
                           struct err *err);
int replication_run_drop(struct cli *cli,
                         const struct args *args,
                         struct err *err);

#endif /* CLI_CMD_REPLICATION_STREAMS_H */

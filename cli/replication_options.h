/* The options by which commands describe a stream of replication.
 *
 * Threads: one.
 */
#ifndef CLI_REPLICATION_OPTIONS_H
#define CLI_REPLICATION_OPTIONS_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "bigtable/quarry_replication.h"
#include "cli/command.h" /* struct option */

struct args;
struct cli;

extern const struct option replication_options[];

struct replication_args {
    struct quarry_replication_spec spec; /* Borrows from below, and argv. */
    struct quarry_replication_family *families; /* Owned, */
    char **texts;                               /* and "FROM" of each. */
    struct buf end;                             /* Of a prefix. */
    char *target;                               /* Owned, */
    char *key_file;                             /* and this one. */
};

/* The stream of @table that @args describe, into @out, which is closed in any
 * case. Errors: ERR_USAGE, those of reading a cluster's directory. */
MUST_CHECK int replication_args_parse(struct cli *cli,
                                      const struct args *args,
                                      const char *table,
                                      struct replication_args *out,
                                      struct err *err);
void replication_args_close(struct replication_args *a);

#endif /* CLI_REPLICATION_OPTIONS_H */

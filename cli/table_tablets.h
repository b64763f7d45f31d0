/* Which server has which tablet. */
#ifndef CLI_TABLE_TABLETS_H
#define CLI_TABLE_TABLETS_H

#include "cli/cli.h"
#include "cli/command.h"

extern const struct option table_tablets_options[];

/* With a table's name: its tablets, where each is served, what it holds and how
 * much it is read and written; without: the same of each server, of all tables.
 */
int table_tablets_run(struct cli *cli,
                      const struct args *args,
                      struct err *err);

/* The tablets of a table, or the one that holds a row, each with its server,
 * what it holds and how much it is read and written. */
int table_where_run(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_TABLE_TABLETS_H */

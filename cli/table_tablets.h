/* Which server has which tablet. */
#ifndef CLI_TABLE_TABLETS_H
#define CLI_TABLE_TABLETS_H

#include "cli/cli.h"
#include "cli/command.h"

/* With a table's name: its tablets, where each is served and what it holds;
 * without: what each server holds of all tables. */
int table_tablets_run(struct cli *cli,
                      const struct args *args,
                      struct err *err);

#endif /* CLI_TABLE_TABLETS_H */

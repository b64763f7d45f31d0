/* --explain and --explain-only of commands that scan: what the scan read, and
 * how long it took, is printed after the rows.
 */
#ifndef CLI_EXPLAIN_ARGS_H
#define CLI_EXPLAIN_ARGS_H

#include <stdbool.h>

#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"

extern const struct option explain_options[];

/* A record for the scan with @options, if @args ask for one; else NULL. Owned:
 * explain_args_print(). */
struct quarry_explain *explain_args_begin(const struct args *args,
                                          struct quarry_read_options *options);
/* Is only the record to be printed, and no row? */
bool explain_args_only(const struct args *args);
/* The scan has ended with @rc: print @e (NULL: nothing) in the format of @cli
 * unless it failed, and free it. It goes to standard error after rows, which
 * stay what they are for the program that reads them, and else to standard
 * output. */
void explain_args_print(struct cli *cli,
                        const struct args *args,
                        struct quarry_explain *e,
                        int rc);

#endif /* CLI_EXPLAIN_ARGS_H */

/* Conditions on values, --where 'family:column = value', and the index that
 * finds the rows with them, if the table has one.
 */
#ifndef CLI_WHERE_ARGS_H
#define CLI_WHERE_ARGS_H

#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/scan_args.h"

extern const struct option where_options[];

/* Does @args have a condition? */
bool where_args_given(const struct args *args);
/* Rows of @t with all conditions of @args, and as @spec says, whose filter gets
 * them: by an index, whose name is in @index (of 65
 * bytes; "" if there is none), or by a scan. *@out is owned. ERR_USAGE,
 * ERR_INVALID. */
MUST_CHECK int where_args_scan(struct cli *cli,
                               const struct args *args,
                               struct quarry_table *t,
                               struct scan_args *spec,
                               struct quarry_scanner **out,
                               char index[65],
                               struct err *err);

#endif /* CLI_WHERE_ARGS_H */

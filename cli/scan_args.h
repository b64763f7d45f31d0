/* Which rows and cells a command reads: the scan options of the command line.
 */
#ifndef CLI_SCAN_ARGS_H
#define CLI_SCAN_ARGS_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/command.h"

/* Of scan, count, export, saw and get. */
extern const struct option read_options[];

/* The options as the library takes them, with the memory they borrow. */
struct scan_args {
    struct quarry_read_options options;
    struct arena arena;           /* Of all bytes of rows. */
    struct buf program;           /* Of --saw. */
    struct quarry_range *ranges;  /* Owned array; none empty but a lone one. */
    const char **families;        /* Owned array. */
    struct slice *keys;           /* Owned array; all in a range, if any. */
    struct quarry_filter *filter; /* Owned. */
};

/* Read the options in @args. Rows must satisfy all of --prefix, --row and
 * --start with --end that are given; of a repeated option, one will do.
 * On success scan_args_close(). Errors: ERR_USAGE. */
MUST_CHECK int scan_args_parse(struct cli *cli,
                               const struct args *args,
                               struct scan_args *out,
                               struct err *err);
void scan_args_close(struct scan_args *spec);

/* Narrow @spec to the columns "family" or "family:qualifier" in @columns.
 * Errors: ERR_INVALID. */
MUST_CHECK int scan_args_columns(struct scan_args *spec,
                                 const char *const *columns,
                                 size_t count,
                                 struct err *err);

#endif /* CLI_SCAN_ARGS_H */

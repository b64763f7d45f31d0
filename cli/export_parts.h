/* Rows of a table in files of lines or records: one, or several written at the
 * same time, each with a range of the rows.
 *
 * Threads: the caller's, and a task for each other part.
 */
#ifndef CLI_EXPORT_PARTS_H
#define CLI_EXPORT_PARTS_H

#include <stdint.h>

#include "cli/cli.h"
#include "cli/export_target.h"

struct quarry_read_options;
struct quarry_table;

struct export_done {
    uint64_t rows;
    uint64_t bytes; /* Of rows, before compression. */
};

/* Write what @opts selects to @target. @schema is the table's, for the head of
 * record files. Files take their names together, when all are whole. Errors:
 * those of the scan and of files; ERR_CANCELLED. Parks. */
MUST_CHECK int export_parts(struct cli *cli,
                            struct quarry_table *t,
                            const struct quarry_read_options *opts,
                            const struct export_target *target,
                            struct slice schema,
                            struct export_done *done,
                            struct err *err);

#endif /* CLI_EXPORT_PARTS_H */

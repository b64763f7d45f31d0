/* Prints the tables of a Sawzall program at its end, on standard output. */
#ifndef CLI_SAW_RESULTS_H
#define CLI_SAW_RESULTS_H

#include <stdbool.h>

#include "cli/cli.h"

struct saw_run;

/* Print all tables of @run: as text in the language's own form or, @aligned, as
 * sheets under their names; as JSON and CSV with the name as first column.
 * Lines are printed as they come, but for sheets. Errors: ERR_CANCELLED after a
 * Ctrl-C that is watched for; of writing. */
MUST_CHECK int saw_results_print(struct saw_run *run,
                                 enum cli_format format,
                                 bool aligned,
                                 struct err *err);

#endif /* CLI_SAW_RESULTS_H */

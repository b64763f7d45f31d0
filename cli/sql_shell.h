/* quarry sql, where DuckDB was there when the tree was built: statements of the
 * command line, of a file, or typed.
 *
 * Threads: one, and one that waits for Ctrl-C.
 */
#ifndef CLI_SQL_SHELL_H
#define CLI_SQL_SHELL_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct cli;

/* Run the command. Errors: ERR_USAGE, ERR_NOTFOUND (DuckDB's library), those of
 * the statement that failed. */
MUST_CHECK int
sql_shell_run(struct cli *cli, const struct args *args, struct err *err);

#endif /* CLI_SQL_SHELL_H */

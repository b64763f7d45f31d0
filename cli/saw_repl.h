/* Sawzall statement by statement: the saw mode of the shell, line by line over
 * a session (saw_session.h).
 *
 * One thread.
 */
#ifndef CLI_SAW_REPL_H
#define CLI_SAW_REPL_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cli;
struct saw_repl;

/* Owned; @cli is borrowed. */
struct saw_repl *saw_repl_new(struct cli *cli);
void saw_repl_free(struct saw_repl *r); /* NULL is allowed. */

/* Take a line: a part of an input, a whole one, or a command (:help). Its value
 * is printed; so are the compiler's messages, on standard error. *@leave: the
 * user wants out. Errors: of the run, ERR_INVALID when it does not compile,
 * ERR_CANCELLED after Ctrl-C. */
MUST_CHECK int saw_repl_line(struct saw_repl *r,
                             struct slice line,
                             bool *leave,
                             struct err *err);
/* Is the input so far unfinished? */
bool saw_repl_pending(const struct saw_repl *r);
/* Drop the unfinished input. */
void saw_repl_drop(struct saw_repl *r);

#endif /* CLI_SAW_REPL_H */

/* A session of Sawzall: inputs evaluated one after the other.
 *
 * Accepted inputs are kept as text. To evaluate one more input, all those that
 * changed something are run again before it, silently: runs are deterministic
 * once clock and random numbers are, so variables and tables are as they were
 * left. An error therefore leaves no half-done change behind.
 *
 * One thread.
 */
#ifndef CLI_SAW_SESSION_H
#define CLI_SAW_SESSION_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct cli;
struct saw_session;

/* Owned; @cli is borrowed. */
struct saw_session *saw_session_new(struct cli *cli);
void saw_session_free(struct saw_session *r); /* NULL is allowed. */

/* Evaluate @text and print what comes of it; the compiler's messages go to
 * standard error. *@more: it is not whole, and nothing was done; never with
 * @last. Errors: of the run; ERR_INVALID when it does not compile;
 * ERR_CANCELLED after Ctrl-C. */
MUST_CHECK int saw_session_evaluate(struct saw_session *r,
                                    struct slice text,
                                    bool last,
                                    bool *more,
                                    struct err *err);
/* The same with the text of file @path. */
MUST_CHECK int
saw_session_load(struct saw_session *r, const char *path, struct err *err);
/* Print the type of an expression. */
MUST_CHECK int
saw_session_type(struct saw_session *r, struct slice text, struct err *err);

/* Print what was emitted so far. */
void saw_session_print_tables(struct saw_session *r);
/* Print the inputs that are kept. */
void saw_session_list(const struct saw_session *r);
/* Forget them. */
void saw_session_clear(struct saw_session *r);
/* Set the variable `input`. */
void saw_session_set_record(struct saw_session *r, struct slice record);

#endif /* CLI_SAW_SESSION_H */

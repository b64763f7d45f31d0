/* `quarry top` on a terminal, by ncurses. */
#ifndef CLI_TOP_TOP_SCREEN_H
#define CLI_TOP_TOP_SCREEN_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct args;
struct cli;
struct top_model;

/* Show @m until the user ends it. The terminal is restored by any end of it: q,
 * Ctrl-C, SIGTERM (by which the process then ends), a terminal that is closed.
 * Errors: ERR_UNSUPPORTED (no terminal, or one that cannot be painted on). */
MUST_CHECK int top_screen(struct cli *cli,
                          const struct args *args,
                          struct top_model *m,
                          struct err *err);

#endif /* CLI_TOP_TOP_SCREEN_H */

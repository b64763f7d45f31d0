/* Actions: changes of the cluster that the console can make.
 *
 * `GET /actions/NAME?table=…` shows a form that says what would happen, and
 * `POST /actions/NAME` does it, with the right to operate, and shows what
 * happened. The process acts as a member of the cluster; the audit log names
 * the viewer. An action that takes longer than ACTION_WAIT_US continues after
 * the answer has said so, and the audit log tells its end.
 *
 * Threads: one loop.
 *
 * Invariants
 *     INV-1. At most ACTIONS_MAX run at once.
 */
#ifndef CLI_CONSOLE_ACTIONS_H
#define CLI_CONSOLE_ACTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct actions;
struct console_viewer;
struct html;
struct http_form;
struct rpc_security;

#define ACTIONS_MAX    8
#define ACTION_WAIT_US UINT64_C(20000000)

/* The cluster they are for. Borrowed. */
struct action_cluster {
    const struct rpc_security *security;
    const char *name;
    const char *const *cell; /* Addresses of lock servers. */
    size_t cell_count;
};

/* Owned. */
struct actions *actions_new(const struct action_cluster *cluster);
/* Cancel those that run, and refuse others. NULL is allowed. */
void actions_stop(struct actions *a);
/* Parks. NULL is allowed. */
void actions_free(struct actions *a);

/* The title of action @name, or NULL: there is none. */
const char *action_title(const char *name);
/* Write the form of action @name, with the fields that @given has. */
void action_form(struct html *h, const char *name, const json_t *given);
/* Do action @name with the fields of @given for @v. *@out, owned, has `outcome`
 * ("done", "running" or "failed") and `text`, a sentence. Parks. Errors, with
 * *@out too: ERR_INVALID (a field is missing), ERR_BUSY (INV-1), those of the
 * order. */
MUST_CHECK int action_run(struct actions *a,
                          const char *name,
                          const struct http_form *given,
                          const struct console_viewer *v,
                          json_t **out,
                          struct err *err);

#endif /* CLI_CONSOLE_ACTIONS_H */

/* The cluster's lists of administrators and roles, for a role of this process
 * that must not wait for them. Queried from the master twice a second; while it
 * does not answer, its last answer counts, and before the first nobody is an
 * administrator and there are no roles.
 *
 * Threads: one loop.
 */
#ifndef CLI_PRINCIPAL_LISTS_H
#define CLI_PRINCIPAL_LISTS_H

#include <stdbool.h>

#include "base/core/slice.h"

struct buf;
struct principal_lists;
struct role_env;

/* @env is borrowed. On a fiber. Owned. */
struct principal_lists *principal_lists_new(const struct role_env *env);
/* Has the master answered yet? */
bool principal_lists_are_known(const struct principal_lists *l);
/* Begin to ask; nothing if it has begun. */
void principal_lists_start(struct principal_lists *l);
/* Ask no more. Parks. */
void principal_lists_stop(struct principal_lists *l);
/* Parks. NULL is allowed. */
void principal_lists_close(struct principal_lists *l);

bool principal_lists_is_administrator(const struct principal_lists *l,
                                      struct slice principal);
/* Append the roles of @principal, with commas. */
void principal_lists_put_roles(const struct principal_lists *l,
                               struct slice principal,
                               struct buf *out);

#endif /* CLI_PRINCIPAL_LISTS_H */

/* quarry lock sessions, holders: for the table of commands in lock.c. */
#ifndef CLI_LOCK_VIEWS_H
#define CLI_LOCK_VIEWS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct chubby;
struct remote;

/* Print the sessions that the cell of @c knows. Parks. */
MUST_CHECK int
lock_views_sessions(struct remote *r, struct chubby *c, struct err *err);
/* Print who holds the locks of directory @path, the command's first word or
 * "/". Parks. */
MUST_CHECK int
lock_views_holders(struct remote *r, struct chubby *c, struct err *err);

#endif /* CLI_LOCK_VIEWS_H */

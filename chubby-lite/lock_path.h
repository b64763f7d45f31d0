/* Paths of nodes: "/" or "/name/name". Pure. */
#ifndef CHUBBY_LITE_LOCK_PATH_H
#define CHUBBY_LITE_LOCK_PATH_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/slice.h"

/* Is @path well-formed? Errors: ERR_INVALID. */
MUST_CHECK int path_check(struct slice path, struct err *err);

/* Take the first name off *@rest, a checked path without its leading '/'; false
 * when none is left. */
bool path_next(struct slice *rest, struct slice *name);

/* Split @path into the directory and the last name, borrowed from it. PRE:
 * @path is checked and not "/". */
void path_split(struct slice path, struct slice *above, struct slice *name);

#endif /* CHUBBY_LITE_LOCK_PATH_H */

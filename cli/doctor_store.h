/* Findings about a store in a directory, for `quarry doctor`.
 *
 * Threads: one.
 */
#ifndef CLI_DOCTOR_STORE_H
#define CLI_DOCTOR_STORE_H

#include <jansson.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct cli;

/* The document: `state`, `sentence`, `findings` and `warnings`, as of a
 * cluster.
 * *@doc is owned: json_decref(). Parks. Errors: ERR_NOTFOUND: there is none. */
MUST_CHECK int
doctor_store_look(struct cli *cli, json_t **doc, struct err *err);

#endif /* CLI_DOCTOR_STORE_H */

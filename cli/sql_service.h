/* The engine of queries of the public API, as the gateway's section says.
 *
 * Threads: one.
 */
#ifndef CLI_SQL_SERVICE_H
#define CLI_SQL_SERVICE_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct gsql_engine;

/* Make an engine whose queries have @memory ("1 GiB") each; NULL: the default.
 * Owned: sql_service_close(). ERR_INVALID (@memory). */
MUST_CHECK int
sql_service_open(const char *memory, struct gsql_engine **out, struct err *err);
/* PRE: no query is open. NULL is allowed. */
void sql_service_close(struct gsql_engine *engine);

#endif /* CLI_SQL_SERVICE_H */

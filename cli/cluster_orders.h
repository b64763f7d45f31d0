/* Orders to a running cluster, for commands and for the console.
 *
 * Threads: one loop, or a plain thread where the client is one of a command.
 * Each parks.
 */
#ifndef CLI_CLUSTER_ORDERS_H
#define CLI_CLUSTER_ORDERS_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct job_client;
struct quarry;
struct rpc_security;

/* Cut the tablet of @table at @row, which is in the form of an argument
 * (text_form.h). Errors: quarry_table_split(). */
MUST_CHECK int order_split(struct quarry *q,
                           const char *table,
                           const char *row,
                           struct err *err);
/* Give the tablet of @row to the tablet server at @server; what happened is
 * appended to @said, a sentence without an end. Errors:
 * quarry_table_move_tablet(). */
MUST_CHECK int order_move(struct quarry *q,
                          const char *table,
                          const char *row,
                          const char *server,
                          struct buf *said,
                          struct err *err);
/* Compact @table, or the one tablet that holds @row ("": all). Errors:
 * quarry_table_compact(). */
MUST_CHECK int order_compact(struct quarry *q,
                             const char *table,
                             const char *row,
                             struct err *err);
/* Stop the job @id. Errors: ERR_INVALID (it does not run), those of
 * job_client_call(). */
MUST_CHECK int
order_kill(struct job_client *c, const char *id, struct err *err);
/* Change the levels of the log of the process at @address ("": change nothing);
 * its levels are appended to @levels. Errors: ERR_INVALID, ERR_UNAVAILABLE,
 * ERR_DENIED, ERR_CORRUPT. */
MUST_CHECK int order_log_level(const char *address,
                               const struct rpc_security *security,
                               struct slice change,
                               struct buf *levels,
                               struct err *err);

#endif /* CLI_CLUSTER_ORDERS_H */

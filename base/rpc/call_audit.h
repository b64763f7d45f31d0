/* Calls in the audit log: the method, its caller, and the first values of its
 * body, the first text of which names the object. Private to base/rpc.
 */
#ifndef BASE_RPC_CALL_AUDIT_H
#define BASE_RPC_CALL_AUDIT_H

#include "base/core/err.h"
#include "base/rpc/rpc.h"

struct buf;
struct world;

/* Note @call of @method, which ended with @code. Does not park. */
void call_audit(struct world *w,
                const char *method,
                const struct rpc_call *call,
                int code,
                const struct err *err);
/* The values of @body as JSON, cut after some; *@on is the first text that is
 * not empty, borrowed from @body. Pure; for tests. */
void call_audit_values(struct slice body, struct slice *on, struct buf *out);

#endif /* BASE_RPC_CALL_AUDIT_H */

/* How calls are registered: each header of calls has two tables, of its methods
 * and of its messages, and everything else is made of them.
 *
 *     METHOD(NAME, number, "name", handler, GATE)
 *
 * is one line for a method. It gives the number its name here (METHOD_NUMBER),
 * and at the server the handler's prototype, the counters and the audit's name,
 * and the check that runs before the handler. Numbers are part of the protocol:
 * only append. Gates are the service's: bigtable's are explained in
 * tablet_methods.c and master_service.c; those of namenodes, chunk servers and
 * the lock service are flags of rpc_method (RPC_METHOD_ROW).
 *
 *     MESSAGE(type, FIELDS, "what it is called in errors")
 *
 * is one line for a message whose fields are a flat list. FIELDS lists them in
 * the order of the wire, as FIELD(KIND, member); message_code.h has the kinds.
 * Both directions are made of that list, and so is the fuzzer of tables.
 */
#ifndef BASE_RPC_CALL_TABLES_H
#define BASE_RPC_CALL_TABLES_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define METHOD_NUMBER(NAME, number, name, handler, gate) NAME = (number),

/* Of struct rpc_method, and the prototype of its handler. */
#define RPC_METHOD_ROW(NAME, number, name, handler, flags)                     \
    {NAME, name, handler, flags},
#define RPC_METHOD_HANDLER(NAME, number, name, handler, flags)                 \
    int handler(void *ctx, struct rpc_call *call, struct err *err);

/* TYPE_put() appends to @out. The slices that TYPE_get() gives are borrowed
 * from @bytes; errors are ERR_CORRUPT. */
#define MESSAGE_PROTOTYPES(type, FIELDS, what)                                 \
    void type##_put(const struct type *m, struct buf *out);                    \
    MUST_CHECK int type##_get(struct slice bytes, struct type *m,              \
                              struct err *err);

/* The same of a message with fields that were added later. */
#define MESSAGE_PROTOTYPES_LATER(type, FIELDS, LATER, what)                    \
    MESSAGE_PROTOTYPES(type, FIELDS, what)

#endif /* BASE_RPC_CALL_TABLES_H */

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
 *     MESSAGE(type, "what it is called in errors")
 *
 * is one line for a message whose fields are a flat list: the table TYPE_fields
 * has them in the order of the wire (message_fields.h). TYPE_put(), TYPE_get()
 * and a case of the fuzzers come from these lines.
 */
#ifndef BASE_RPC_CALL_TABLES_H
#define BASE_RPC_CALL_TABLES_H

#include "base/rpc/message_fields.h"

#define METHOD_NUMBER(NAME, number, name, handler, gate) NAME = (number),

/* Of struct rpc_method, and the prototype of its handler. */
#define RPC_METHOD_ROW(NAME, number, name, handler, flags)                     \
    {NAME, name, handler, flags},
#define RPC_METHOD_HANDLER(NAME, number, name, handler, flags)                 \
    int handler(void *ctx, struct rpc_call *call, struct err *err);

#endif /* BASE_RPC_CALL_TABLES_H */

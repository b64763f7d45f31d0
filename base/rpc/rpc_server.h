/* The table of methods, for the transport that serves it. Private to base/rpc.
 */
#ifndef BASE_RPC_RPC_SERVER_H
#define BASE_RPC_RPC_SERVER_H

#include "base/rpc/rpc.h"

/* The world the server was made with. Borrowed. */
struct world *rpc_server_world(const struct rpc_server *s);
/* The entry of @method in the table, borrowed, or NULL. */
const struct rpc_method *rpc_server_method(const struct rpc_server *s,
                                           uint32_t method);

#endif /* BASE_RPC_RPC_SERVER_H */

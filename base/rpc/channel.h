/* What a transport implements: private to base/rpc. */
#ifndef BASE_RPC_CHANNEL_H
#define BASE_RPC_CHANNEL_H

#include "base/rpc/rpc.h"

struct rpc_channel;

struct rpc_channel_ops {
    /* As rpc_call(), with both reply buffers present. */
    int (*call)(struct rpc_channel *c,
                uint32_t method,
                const struct rpc_call_options *opts,
                struct slice body,
                struct slice attachment,
                struct buf *reply_body,
                struct buf *reply_attachment,
                struct err *err);
    void (*free)(struct rpc_channel *c);
};

/* First member of every transport's channel. */
struct rpc_channel {
    const struct rpc_channel_ops *ops;
};

/* The world a server was made with. */
struct world *rpc_server_world(const struct rpc_server *s);
bool rpc_server_knows(const struct rpc_server *s, uint32_t method);
/* See rpc_server_leave_check(). */
bool rpc_server_leaves_check(const struct rpc_server *s, uint32_t method);

#endif /* BASE_RPC_CHANNEL_H */

/* Calling through a channel, whatever carries it. */
#include "base/rpc/channel.h"

int rpc_call(struct rpc_channel *c,
             uint32_t method,
             const struct rpc_call_options *opts,
             struct slice body,
             struct slice attachment,
             struct buf *reply_body,
             struct buf *reply_attachment,
             struct err *err)
{
    static const struct rpc_call_options no_options;
    struct buf dropped_body = BUF_INIT;
    struct buf dropped_attachment = BUF_INIT;
    int code = c->ops->call(
        c, method, opts ? opts : &no_options, body, attachment,
        reply_body ? reply_body : &dropped_body,
        reply_attachment ? reply_attachment : &dropped_attachment, err);
    buf_close(&dropped_body);
    buf_close(&dropped_attachment);
    return code;
}

void rpc_channel_free(struct rpc_channel *c)
{
    if (c)
        c->ops->free(c);
}

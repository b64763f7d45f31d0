/* Calling through a channel, whatever carries it. */
#include "base/rpc/channel.h"

#include "base/rpc/security.h"

bool rpc_name_is_valid(struct slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c <= ' ' || c == 0x7f || c == ',')
            return false;
    }
    return name.len > 0 && name.len <= RPC_NAME_BYTES_MAX;
}

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
    int code;
    opts = opts ? opts : &no_options;
    if (opts->sent)
        *opts->sent = false;
    if (opts->act_as.len && !rpc_name_is_valid(opts->act_as))
        return err_set(err, ERR_INVALID, "'%.*s' is no principal",
                       SLICE_ARG(opts->act_as));
    code = c->ops->call(
        c, method, opts, body, attachment,
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

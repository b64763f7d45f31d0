/* What handlers do with attachments, wherever the call came from. */
#include "base/rpc/reply_parts.h"

#include "base/core/panic.h"

void rpc_reply_borrowed(struct rpc_call *call,
                        const struct slice *parts,
                        size_t count,
                        void (*release)(void *ctx),
                        void *ctx)
{
    struct rpc_reply_parts *p = call->reply_parts;
    PRE(p->count == 0 && !p->release);
    PRE(count <= RPC_PARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        p->parts[i] = parts[i];
        p->bytes += parts[i].len;
    }
    p->count = count;
    p->release = release;
    p->ctx = ctx;
}

bool rpc_reply_file(struct rpc_call *call,
                    struct file *f,
                    uint64_t offset,
                    size_t len,
                    uint32_t crc,
                    void (*release)(void *ctx),
                    void *ctx)
{
    struct rpc_reply_parts *p = call->reply_parts;
    PRE(p->count == 0 && !p->release);
    PRE(call->reply_attachment->len == 0);
    if (!p->takes_files)
        return false;
    p->file = f;
    p->file_offset = offset;
    p->file_bytes = len;
    p->bytes = len;
    p->release = release;
    p->ctx = ctx;
    call->reply_crc = (struct rpc_crc){true, crc};
    return true;
}

void reply_parts_release(struct rpc_reply_parts *p)
{
    void (*release)(void *ctx) = p->release;
    p->release = NULL;
    p->count = 0;
    p->bytes = 0;
    p->file = NULL;
    p->file_bytes = 0;
    if (release)
        release(p->ctx);
}

void rpc_take_attachment(struct rpc_call *call, struct buf *out)
{
    PRE(out->len == 0);
    if (call->taken && call->taken->data == call->attachment.data) {
        buf_close(out);
        *out = *call->taken;
        *call->taken = BUF_INIT;
    } else {
        buf_append_slice(out, call->attachment);
    }
    call->attachment = buf_slice(out);
}

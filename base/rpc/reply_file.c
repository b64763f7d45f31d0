/* An answer whose attachment is a range of a file: sent from the page cache
 * without a copy in this process. A handler that fails afterwards, or a
 * connection that ends, releases the range all the same. */
#include "base/rpc/reply_file.h"

#include "base/core/panic.h"

bool rpc_reply_file(struct rpc_call *call,
                    struct file *f,
                    uint64_t offset,
                    size_t len,
                    uint32_t crc,
                    void (*release)(void *ctx),
                    void *ctx)
{
    struct rpc_reply_file *p = call->reply_file;
    PRE(call->reply_attachment->len == 0);
    PRE(!p || !p->release);
    if (!p || !p->is_possible)
        return false;
    p->file = f;
    p->offset = offset;
    p->bytes = len;
    p->release = release;
    p->ctx = ctx;
    call->reply_crc = (struct rpc_crc){true, crc};
    return true;
}

void reply_file_release(struct rpc_reply_file *p)
{
    void (*release)(void *ctx) = p->release;
    p->release = NULL;
    p->bytes = 0;
    p->file = NULL;
    if (release)
        release(p->ctx);
}

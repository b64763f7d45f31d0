/* The range of a file that is a call's answer. Private to base/rpc. */
#ifndef BASE_RPC_REPLY_FILE_H
#define BASE_RPC_REPLY_FILE_H

#include "base/rpc/rpc.h"

struct rpc_reply_file {
    bool is_possible;  /* The transport can send files. */
    struct file *file; /* NULL: none. Borrowed until release(). */
    uint64_t offset;
    size_t bytes;
    void (*release)(void *ctx);
    void *ctx;
};

/* Call release() if the range was not released yet: the answer has been
 * sent, or never will be. */
void reply_file_release(struct rpc_reply_file *p);

#endif /* BASE_RPC_REPLY_FILE_H */

/* Slices a handler lends for its answer. Private to base/rpc. */
#ifndef BASE_RPC_REPLY_PARTS_H
#define BASE_RPC_REPLY_PARTS_H

#include "base/rpc/rpc.h"

struct rpc_reply_parts {
    struct slice parts[RPC_PARTS_MAX];
    size_t count;
    size_t bytes; /* Of all. */
    bool takes_files;
    struct file *file; /* NULL, or instead of parts. */
    uint64_t file_offset;
    size_t file_bytes;
    void (*release)(void *ctx);
    void *ctx;
};

/* There are none. */
static inline void reply_parts_init(struct rpc_reply_parts *p)
{
    p->count = 0;
    p->bytes = 0;
    p->takes_files = false;
    p->file = NULL;
    p->file_bytes = 0;
    p->release = NULL;
    p->ctx = NULL;
}

/* Nobody needs them any more. Any number of times. */
void reply_parts_release(struct rpc_reply_parts *p);

#endif /* BASE_RPC_REPLY_PARTS_H */

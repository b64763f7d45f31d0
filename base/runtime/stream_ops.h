/* What an implementation of streams provides. Private to base/runtime. */
#ifndef BASE_RUNTIME_STREAM_OPS_H
#define BASE_RUNTIME_STREAM_OPS_H

#include "base/runtime/stream.h"

/* Longest address printed, its NUL included. */
#define STREAM_ADDRESS_BYTES 192

struct stream_ops {
    int (*read)(struct stream *s,
                void *dst,
                size_t len,
                size_t *got,
                struct err *err);
    int (*write)(struct stream *s,
                 const struct slice *parts,
                 size_t part_count,
                 struct err *err);
    void (*close)(struct stream *s);
    int (*accept)(struct stream_listener *l,
                  struct stream **out,
                  struct err *err);
    void (*listener_close)(struct stream_listener *l);
};

struct stream {
    const struct stream_ops *ops;
    struct loop *loop;
    char peer[STREAM_ADDRESS_BYTES];
};

struct stream_listener {
    const struct stream_ops *ops;
    struct loop *loop;
    char address[STREAM_ADDRESS_BYTES];
};

#endif /* BASE_RUNTIME_STREAM_OPS_H */

/* What an implementation of streams provides. Private to base/runtime. */
#ifndef BASE_RUNTIME_STREAM_OPS_H
#define BASE_RUNTIME_STREAM_OPS_H

#include <stdbool.h>

#include "base/runtime/stream.h"

/* Longest address printed, its NUL included. */
#define STREAM_ADDRESS_BYTES 192

enum stream_side {
    STREAM_READING,
    STREAM_WRITING
};

/* None of these but wait and accept parks. stream.c loops around them, sees to
 * it that a stream lives while a fiber is inside a call on it, and lets nothing
 * through once it is closed. */
struct stream_ops {
    /* Read what is there: *@got 0 with *@end false when there is nothing yet,
     * with *@end true at the end of the stream. */
    int (*read)(struct stream *s,
                void *dst,
                size_t len,
                size_t *got,
                bool *end,
                struct err *err);
    /* Write what there is room for, from byte @skip of the first part on;
     * *@done may be 0. PRE: there is at least one byte. */
    int (*write)(struct stream *s,
                 const struct slice *parts,
                 size_t part_count,
                 size_t skip,
                 size_t *done,
                 struct err *err);
    /* Write a part of a file; *@done may be 0: there is no room yet. NULL: it
     * cannot. */
    int (*write_file)(struct stream *s,
                      struct file *f,
                      uint64_t offset,
                      size_t len,
                      size_t *done,
                      struct err *err);
    /* May files be passed over it? NULL: never. */
    bool (*passes_files)(const struct stream *s);
    /* Pass an open file; *@done false: there is no room yet. NULL: it cannot.
     */
    int (*send_file)(struct stream *s,
                     struct file *f,
                     bool *done,
                     struct err *err);
    /* *@out stays NULL while there is nothing. NULL: it cannot. */
    int (*receive_file)(struct stream *s, struct file **out, struct err *err);
    /* Park until reading or writing may do something, or the stream is closed.
     * Wakes may be spurious. */
    int (*wait)(struct stream *s, enum stream_side side, struct err *err);
    void (*end_writing)(struct stream *s);
    void (*close)(struct stream *s); /* Wakes who waits. Once. */
    void (*free)(struct stream *s);  /* Closed, and nobody is inside. */
    bool (*is_local)(const struct stream *s);
    int (*accept)(struct stream_listener *l,
                  struct stream **out,
                  struct err *err);
    void (*listener_close)(struct stream_listener *l);
};

struct stream {
    const struct stream_ops *ops;
    struct loop *loop;
    unsigned users; /* The owner, fibers inside calls, the implementation. */
    bool closed;
    uint64_t written; /* Bytes that the implementation took, ever. */
    char peer[STREAM_ADDRESS_BYTES];
};

/* One user less; the last one frees it. */
void stream__drop(struct stream *s);
/* Park until @side may do something. Parks. */
MUST_CHECK int
stream__wait(struct stream *s, enum stream_side side, struct err *err);
int stream__closed_error(const struct stream *s, struct err *err);

struct stream_listener {
    const struct stream_ops *ops;
    struct loop *loop;
    bool is_local; /* Only this machine can reach it. */
    char address[STREAM_ADDRESS_BYTES];
};

#endif /* BASE_RUNTIME_STREAM_OPS_H */

/* The operations that an implementation of streams provides. Private to
 * base/runtime. */
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

/* Only wait and accept park. stream.c loops around the others, keeps a
 * stream alive while a fiber is inside a call on it, and calls nothing but
 * free once it is closed. */
struct stream_ops {
    /* Read the bytes that have arrived: *@got 0 with *@end false when there
     * are none yet, with *@end true at the end of the stream. */
    int (*read)(struct stream *s,
                void *dst,
                size_t len,
                size_t *got,
                bool *end,
                struct err *err);
    /* Write as much as there is room for, from byte @skip of the first part
     * on; *@done may be 0. PRE: there is at least one byte. */
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
    /* True if it can transfer open files. NULL: never. */
    bool (*passes_files)(const struct stream *s);
    /* Send an open file; *@done false: there is no room yet. NULL: unsupported.
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
    void (*close)(struct stream *s); /* Wakes the fibers that wait. Called
                                        once. */
    void (*free)(struct stream *s);  /* It is closed, and no fiber is inside
                                        a call. */
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
    uint64_t written; /* Bytes that the implementation has accepted. */
    char peer[STREAM_ADDRESS_BYTES];
};

/* Release one user's hold; the last one frees it. */
void stream__drop(struct stream *s);
/* Park until @side may do something. Parks. */
MUST_CHECK int
stream__wait(struct stream *s, enum stream_side side, struct err *err);
/* Set ERR_CLOSED, with the peer's name; returns it. */
int stream__closed_error(const struct stream *s, struct err *err);

struct stream_listener {
    const struct stream_ops *ops;
    struct loop *loop;
    bool is_local; /* Only this machine can reach it. */
    char address[STREAM_ADDRESS_BYTES];
};

#endif /* BASE_RUNTIME_STREAM_OPS_H */

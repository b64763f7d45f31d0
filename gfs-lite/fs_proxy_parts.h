/* Shared by fs_proxy.c (life, requests and names), fs_proxy_reader.c and
 * fs_proxy_writer.c (files): the client's side of the proxy.
 *
 * Ownership. The proxied file system owns the one that it opens itself; the
 * socket belongs to the caller of fs_proxy_connect(). Readers and writers
 * borrow the file system.
 *
 * Threads. One, as fs_proxy_connect() says. A request blocks it until the
 * answer arrives: the process has nothing else to wait for.
 *
 *     INV-1. One request is under way at a time: `question` and `answer` belong
 *            to it, and a cursor into an answer is valid until the next
 *            fs_proxy__begin().
 *     INV-2. Once the proxy server is gone, nothing is sent to it any more.
 *     INV-3. Without `open_own` there is never an `own`.
 */
#ifndef GFS_LITE_FS_PROXY_PARTS_H
#define GFS_LITE_FS_PROXY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "gfs-lite/fs_ops.h"
#include "gfs-lite/fs_proxy.h"

struct cursor;

struct fs_proxy {
    struct fs base;
    int socket;                 /* Borrowed. */
    fs_proxy_open_own open_own; /* NULL: the proxy server does everything. */
    void *ctx;
    struct fs *own;      /* Owned; NULL: not opened. */
    bool gone;           /* The proxy server is gone. */
    uint64_t next_id;    /* Of a question. */
    uint64_t read_bytes; /* Through the proxy server. */
    struct buf question;
    char *answer; /* Owned; FS_PROXY_MESSAGE_MAX. */
};

static inline struct fs_proxy *fs_proxy_of(struct fs *fs)
{
    return (struct fs_proxy *)fs;
}

/* Does the proxy server do everything? */
static inline bool fs_proxy__lender_only(const struct fs_proxy *l)
{
    return !l->open_own;
}

/* The client's own file system, opened on first use; borrowed from @l. Parks.
 * ERR_UNAVAILABLE: it has none, and the proxy server is gone. */
MUST_CHECK int
fs_proxy__own(struct fs_proxy *l, struct fs **out, struct err *err);

/* Begin a request about @path; append its other fields to the buffer returned,
 * which is borrowed until the next request. */
struct buf *
fs_proxy__begin(struct fs_proxy *l, enum fs_proxy_op op, const char *path);
/* Send the request and receive its answer in @in (INV-1). Blocks. ERR_CLOSED:
 * the proxy server is gone. */
MUST_CHECK int
fs_proxy__ask(struct fs_proxy *l, struct cursor *in, struct err *err);
/* The same, where only the proxy server can answer. Blocks. */
MUST_CHECK int
fs_proxy__ask_only(struct fs_proxy *l, struct cursor *in, struct err *err);

/* --- fs_proxy_reader.c: functions of fs_ops ------------------------------ */

MUST_CHECK int fs_proxy__open(struct fs *fs,
                              const char *path,
                              struct fs_reader **out,
                              struct err *err);
/* As in fs.h. Blocks. */
MUST_CHECK int fs_proxy__read_at(struct fs_reader *base,
                                 uint64_t offset,
                                 void *dst,
                                 size_t len,
                                 size_t *got,
                                 struct err *err);
void fs_proxy__prefetch(struct fs_reader *base, uint64_t offset, uint64_t len);
void fs_proxy__reader_close(struct fs_reader *base);
size_t fs_proxy__locality(struct fs_reader *r,
                          uint64_t offset,
                          uint64_t len,
                          const char **machines,
                          size_t machines_max);

/* As in fs.h. Blocks. */
/* --- fs_proxy_writer.c: likewise ----------------------------------------- */

MUST_CHECK int fs_proxy__create(struct fs *fs,
                                const char *path,
                                const struct fs_write_options *opts,
                                struct fs_writer **out,
                                struct err *err);
MUST_CHECK int fs_proxy__append(struct fs_writer *base,
                                const void *data,
                                size_t len,
                                struct err *err);
MUST_CHECK int fs_proxy__sync(struct fs_writer *base, struct err *err);
void fs_proxy__writer_close(struct fs_writer *base);

#endif /* GFS_LITE_FS_PROXY_PARTS_H */

/* Inside of a borrowed file system: what lent*.c share. lent.c has its life,
 * the asking and names; fs_proxy_reader.c and fs_proxy_writer.c have the files.
 *
 * Ownership. The file system owns the one that it opens itself; the socket is
 * the caller's of fs_proxy_connect(). Readers and writers borrow the file
 * system.
 *
 * Threads. One, as fs_proxy_connect() says. A question blocks it until the
 * answer is there: whoever borrows waits for nothing else.
 *
 * Invariants
 *     INV-1. One question is under way at a time: `question` and `answer` are
 *            of that one, and what an answer lends (a cursor) is valid until
 *            the next fs_proxy__begin().
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
    bool gone;           /* The proxy server is. */
    uint64_t next_id;    /* Of a question. */
    uint64_t read_bytes; /* Through the proxy server. */
    struct buf question;
    char *answer; /* Owned; FS_PROXY_MESSAGE_MAX. */
};

static inline struct fs_proxy *fs_proxy_of(struct fs *fs)
{
    return (struct fs_proxy *)fs;
}

/* Is it left to the proxy, and to nobody else? */
static inline bool fs_proxy__lender_only(const struct fs_proxy *l)
{
    return !l->open_own;
}

/* The file system of its own, opened if it was not; borrowed from @l. Parks.
 * ERR_UNAVAILABLE: there is none to be had, and the proxy server is gone. */
MUST_CHECK int
fs_proxy__own(struct fs_proxy *l, struct fs **out, struct err *err);

/* Begin a question about @path; what follows is appended to what this returns,
 * which is borrowed until the next. */
struct buf *
fs_proxy__begin(struct fs_proxy *l, enum fs_proxy_op op, const char *path);
/* What the proxy server says to it, in @in (INV-1). Blocks. ERR_CLOSED: it says
 * nothing. */
MUST_CHECK int
fs_proxy__ask(struct fs_proxy *l, struct cursor *in, struct err *err);
/* The same where nobody else could be asked. Blocks. */
MUST_CHECK int
fs_proxy__ask_only(struct fs_proxy *l, struct cursor *in, struct err *err);

/* --- fs_proxy_reader.c: as fs_ops says ----------------------------------- */

MUST_CHECK int fs_proxy__open(struct fs *fs,
                              const char *path,
                              struct fs_reader **out,
                              struct err *err);
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

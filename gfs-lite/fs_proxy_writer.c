/* Writing through a proxy: a small file is kept here, and sent whole by each
 * sync or flush that finds new bytes; a large or exclusive one gets a writer of
 * the client's own file system, or one of the proxy server's.
 *
 * Invariants of a writer
 *     INV-1. Its bytes so far are in `bytes`, or with `own`, or with the proxy
 *            server's writer `handle`; never in two of them.
 *     INV-2. `put` is set only while all of `bytes` is on the disks.
 */
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "gfs-lite/fs_proxy_parts.h"

struct fs_proxy_writer {
    struct fs_writer base;
    char *path; /* Owned. */
    struct fs_write_options options;
    struct buf bytes;      /* All of the file, until it has a writer. */
    bool put;              /* They are on the disks. */
    struct fs_writer *own; /* Owned; NULL: there is none. */
    bool opened;           /* By the proxy, as @handle. */
    uint64_t handle;
};

static int ask_create(struct fs_proxy_writer *w, struct err *err)
{
    struct fs_proxy *l = fs_proxy_of(w->base.fs);
    struct buf *q = fs_proxy__begin(l, FS_PROXY_CREATE, w->path);
    struct cursor in;
    int rc;
    buf_put_varint(q, w->options.mode);
    buf_put_varint(q, w->options.replication);
    buf_put_varint(q, w->options.expected_bytes);
    buf_put_u8(q, w->options.exclusive);
    rc = fs_proxy__ask_only(l, &in, err);
    if (rc)
        return rc;
    w->handle = cursor_varint(&in);
    w->opened = true;
    return 0;
}

/* Append to, flush, sync or close the file that the proxy server has open. */
static int ask_writer(struct fs_proxy_writer *w,
                      enum fs_proxy_op op,
                      struct slice bytes,
                      struct err *err)
{
    struct fs_proxy *l = fs_proxy_of(w->base.fs);
    struct buf *q = fs_proxy__begin(l, op, "");
    struct cursor in;
    buf_put_varint(q, w->handle);
    if (op == FS_PROXY_APPEND)
        buf_put_lslice(q, bytes);
    return fs_proxy__ask_only(l, &in, err);
}

static int
ask_append(struct fs_proxy_writer *w, struct slice bytes, struct err *err)
{
    int rc = 0;
    while (rc == 0 && bytes.len > 0) {
        size_t n = MIN_OF(bytes.len, FS_PROXY_BYTES_MAX);
        rc = ask_writer(w, FS_PROXY_APPEND, slice_sub(bytes, 0, n), err);
        bytes = slice_sub(bytes, n, bytes.len);
    }
    return rc;
}

/* Open the file at the proxy server, with the bytes appended so far. */
static int write_remotely(struct fs_proxy_writer *w, struct err *err)
{
    int rc = ask_create(w, err);
    if (rc == 0)
        rc = ask_append(w, buf_slice(&w->bytes), err);
    buf_clear(&w->bytes);
    return rc;
}

/* Open an own writer of the file, with the bytes appended so far. */
static int write_own(struct fs_proxy_writer *w, struct err *err)
{
    struct fs *own = NULL;
    int rc;
    if (w->own || w->opened)
        return 0;
    if (fs_proxy__lender_only(fs_proxy_of(w->base.fs)))
        return write_remotely(w, err);
    rc = fs_proxy__own(fs_proxy_of(w->base.fs), &own, err);
    if (rc == 0)
        rc = fs_create(own, w->path, &w->options, &w->own, err);
    if (rc == 0)
        rc = fs_writer_append(w->own, w->bytes.data, w->bytes.len, err);
    buf_clear(&w->bytes);
    return rc;
}

void fs_proxy__writer_close(struct fs_writer *base)
{
    struct fs_proxy_writer *w = (struct fs_proxy_writer *)base;
    fs_writer_close(w->own);
    if (w->opened) {
        /* The proxy server closes it with the session. */
        IGNORE_RESULT(ask_writer(w, FS_PROXY_CLOSE, SLICE_EMPTY, NULL));
    }
    buf_close(&w->bytes);
    mem_free(w->path);
    mem_free(w);
}

int fs_proxy__create(struct fs *fs,
                     const char *path,
                     const struct fs_write_options *opts,
                     struct fs_writer **out,
                     struct err *err)
{
    struct fs_proxy_writer *w = mem_zalloc(1, sizeof(*w));
    int rc = 0;
    w->base.fs = fs;
    w->path = mem_strdup(path);
    w->options = *opts;
    if (opts->exclusive)
        rc = write_own(w, err);
    if (rc)
        fs_proxy__writer_close(&w->base);
    else
        *out = &w->base;
    return rc;
}

int fs_proxy__append(struct fs_writer *base,
                     const void *data,
                     size_t len,
                     struct err *err)
{
    struct fs_proxy_writer *w = (struct fs_proxy_writer *)base;
    int rc = 0;
    if (len > FS_PROXY_BYTES_MAX - w->bytes.len)
        rc = write_own(w, err);
    if (rc == 0 && w->own)
        rc = fs_writer_append(w->own, data, len, err);
    else if (rc == 0 && w->opened)
        rc = ask_append(w, slice_make(data, len), err);
    else if (rc == 0)
        buf_append(&w->bytes, data, len);
    if (rc == 0)
        base->offset += len;
    w->put = w->put && len == 0;
    return rc;
}

static int fs_proxy_writer_put(struct fs_proxy_writer *w, struct err *err)
{
    struct fs_proxy *l = fs_proxy_of(w->base.fs);
    struct buf *q = fs_proxy__begin(l, FS_PROXY_PUT, w->path);
    struct cursor in;
    buf_put_varint(q, w->options.mode);
    buf_put_varint(q, w->options.replication);
    buf_put_lslice(q, buf_slice(&w->bytes));
    return fs_proxy__ask(l, &in, err);
}

int fs_proxy__sync(struct fs_writer *base, struct err *err)
{
    struct fs_proxy_writer *w = (struct fs_proxy_writer *)base;
    int rc = 0;
    if (w->put)
        return 0;
    if (w->opened)
        return ask_writer(w, FS_PROXY_SYNC, SLICE_EMPTY, err);
    if (!w->own) {
        rc = fs_proxy_writer_put(w, err);
        w->put = rc == 0;
        if (rc != ERR_CLOSED)
            return rc;
        rc = write_own(w, err);
    }
    return rc ? rc : fs_writer_sync(w->own, err);
}

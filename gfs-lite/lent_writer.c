/* Files of a borrowed file system that are written: small ones are sent whole,
 * with their first sync; a large one gets a writer of its own, or one of the
 * lender's.
 *
 * Invariants of a writer
 *     INV-1. Its bytes so far are in `bytes`, or with `own`, or with the
 *            lender's writer `handle`; never in two of them.
 *     INV-2. `put` is set while all of `bytes` is on the disks.
 */
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "gfs-lite/lent_parts.h"

struct lent_writer {
    struct fs_writer base;
    char *path; /* Owned. */
    struct fs_write_options options;
    struct buf bytes;      /* All of the file, until it has a writer. */
    bool put;              /* They are on the disks. */
    struct fs_writer *own; /* Owned; NULL: there is none. */
    bool opened;           /* By the lender, as @handle. */
    uint64_t handle;
};

static int ask_create(struct lent_writer *w, struct err *err)
{
    struct lent *l = lent_of(w->base.fs);
    struct buf *q = lent__begin(l, LENT_CREATE, w->path);
    struct cursor in;
    int rc;
    buf_put_varint(q, w->options.mode);
    buf_put_varint(q, w->options.replication);
    buf_put_varint(q, w->options.expected_bytes);
    buf_put_u8(q, w->options.exclusive);
    rc = lent__ask_only(l, &in, err);
    if (rc)
        return rc;
    w->handle = cursor_varint(&in);
    w->opened = true;
    return 0;
}

/* Of a file that the lender has open: append, flush, sync or close. */
static int ask_writer(struct lent_writer *w,
                      enum lent_op op,
                      struct slice bytes,
                      struct err *err)
{
    struct lent *l = lent_of(w->base.fs);
    struct buf *q = lent__begin(l, op, "");
    struct cursor in;
    buf_put_varint(q, w->handle);
    if (op == LENT_APPEND)
        buf_put_lslice(q, bytes);
    return lent__ask_only(l, &in, err);
}

static int
ask_append(struct lent_writer *w, struct slice bytes, struct err *err)
{
    int rc = 0;
    while (rc == 0 && bytes.len > 0) {
        size_t n = MIN_OF(bytes.len, LENT_BYTES_MAX);
        rc = ask_writer(w, LENT_APPEND, slice_sub(bytes, 0, n), err);
        bytes = slice_sub(bytes, n, bytes.len);
    }
    return rc;
}

/* The file with what was appended so far, open at the lender. */
static int write_lent(struct lent_writer *w, struct err *err)
{
    int rc = ask_create(w, err);
    if (rc == 0)
        rc = ask_append(w, buf_slice(&w->bytes), err);
    buf_clear(&w->bytes);
    return rc;
}

/* The file with what was appended so far, by a writer that stays open. */
static int write_own(struct lent_writer *w, struct err *err)
{
    struct fs *own = NULL;
    int rc;
    if (w->own || w->opened)
        return 0;
    if (lent__lender_only(lent_of(w->base.fs)))
        return write_lent(w, err);
    rc = lent__own(lent_of(w->base.fs), &own, err);
    if (rc == 0)
        rc = fs_create(own, w->path, &w->options, &w->own, err);
    if (rc == 0)
        rc = fs_writer_append(w->own, w->bytes.data, w->bytes.len, err);
    buf_clear(&w->bytes);
    return rc;
}

void lent__writer_close(struct fs_writer *base)
{
    struct lent_writer *w = (struct lent_writer *)base;
    fs_writer_close(w->own);
    if (w->opened && ask_writer(w, LENT_CLOSE, SLICE_EMPTY, NULL)) {
        /* The lender closes it with the session. */
    }
    buf_close(&w->bytes);
    mem_free(w->path);
    mem_free(w);
}

int lent__create(struct fs *fs,
                 const char *path,
                 const struct fs_write_options *opts,
                 struct fs_writer **out,
                 struct err *err)
{
    struct lent_writer *w = mem_zalloc(1, sizeof(*w));
    int rc = 0;
    w->base.fs = fs;
    w->path = mem_strdup(path);
    w->options = *opts;
    if (opts->exclusive)
        rc = write_own(w, err);
    if (rc)
        lent__writer_close(&w->base);
    else
        *out = &w->base;
    return rc;
}

int lent__append(struct fs_writer *base,
                 const void *data,
                 size_t len,
                 struct err *err)
{
    struct lent_writer *w = (struct lent_writer *)base;
    int rc = 0;
    if (len > LENT_BYTES_MAX - w->bytes.len)
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

static int put(struct lent_writer *w, struct err *err)
{
    struct lent *l = lent_of(w->base.fs);
    struct buf *q = lent__begin(l, LENT_PUT, w->path);
    struct cursor in;
    buf_put_varint(q, w->options.mode);
    buf_put_varint(q, w->options.replication);
    buf_put_lslice(q, buf_slice(&w->bytes));
    return lent__ask(l, &in, err);
}

int lent__sync(struct fs_writer *base, struct err *err)
{
    struct lent_writer *w = (struct lent_writer *)base;
    int rc = 0;
    if (w->put)
        return 0;
    if (w->opened)
        return ask_writer(w, LENT_SYNC, SLICE_EMPTY, err);
    if (!w->own) {
        rc = put(w, err);
        w->put = rc == 0;
        if (rc != ERR_CLOSED)
            return rc;
        rc = write_own(w, err);
    }
    return rc ? rc : fs_writer_sync(w->own, err);
}

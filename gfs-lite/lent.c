/* A borrowed file system: small things through the lender, the rest through one
 * of its own. */
#include "gfs-lite/lent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_ops.h"

struct lent {
    struct fs base;
    int socket;
    lent_open_own open_own;
    void *ctx;
    struct fs *own; /* NULL: not opened. */
    bool gone;      /* The lender is. */
    uint64_t next_id;
    uint64_t read_bytes; /* Through the lender. */
    struct buf question;
    char *answer;
};

struct lent_reader {
    struct fs_reader base;
    char *path;
    struct fs_reader *own; /* NULL: through the lender. */
};

struct lent_writer {
    struct fs_writer base;
    char *path;
    struct fs_write_options options;
    struct buf bytes; /* All of the file, until it has a writer of its own. */
    bool put;         /* They are there. */
    struct fs_writer *own;
};

static struct lent *lent_of(struct fs *fs)
{
    return (struct lent *)fs;
}

static int own_of(struct lent *l, struct fs **out, struct err *err)
{
    int rc = 0;
    if (!l->own)
        rc = l->open_own(l->ctx, l->base.world, &l->own, err);
    *out = l->own;
    return rc;
}

/* --- asking --------------------------------------------------------------- */

static struct buf *begin(struct lent *l, enum lent_op op, const char *path)
{
    buf_clear(&l->question);
    buf_put_u8(&l->question, (uint8_t)op);
    buf_put_le64(&l->question, ++l->next_id);
    buf_put_lslice(&l->question, slice_str(path));
    return &l->question;
}

/* The answer to the question, past those to borrowers before this one. False:
 * there is no lender any more. */
static bool receive(struct lent *l, struct cursor *in)
{
    for (;;) {
        ssize_t n = recv(l->socket, l->answer, LENT_MESSAGE_MAX, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        *in = cursor_make(slice_make(l->answer, (size_t)n));
        if (cursor_le64(in) == l->next_id)
            return true;
    }
}

static bool exchange(struct lent *l, struct cursor *in)
{
    const struct buf *q = &l->question;
    ssize_t n;
    do
        n = send(l->socket, q->data, q->len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)q->len && receive(l, in);
}

/* What the lender says, in @in. ERR_CLOSED: it says nothing. */
static int ask(struct lent *l, struct cursor *in, struct err *err)
{
    int64_t code;
    l->gone = l->gone || !exchange(l, in);
    if (l->gone)
        return ERR_CLOSED;
    code = cursor_zigzag(in);
    if (code) {
        struct slice text = cursor_lslice(in);
        struct slice hint = cursor_lslice(in);
        int rc =
            code < 0 && code > -1000 && code != ERR_CLOSED ? (int)code : ERR_IO;
        err_set(err, rc, "%.*s", SLICE_ARG(text));
        if (hint.len > 0)
            err_hint(err, "%.*s", SLICE_ARG(hint));
        return rc;
    }
    if (in->bad)
        return err_set(err, ERR_CORRUPT, "malformed answer of a lender");
    return 0;
}

/* --- reading -------------------------------------------------------------- */

static int lent_open(struct fs *fs,
                     const char *path,
                     struct fs_reader **out,
                     struct err *err)
{
    struct lent *l = lent_of(fs);
    struct lent_reader *r;
    struct fs_reader *own_reader = NULL;
    struct fs *own = NULL;
    struct cursor in;
    uint64_t size = 0;
    int rc;
    begin(l, LENT_OPEN, path);
    rc = ask(l, &in, err);
    if (rc == 0)
        size = cursor_varint(&in);
    if (rc == ERR_CLOSED) {
        rc = own_of(l, &own, err);
        if (rc == 0)
            rc = fs_open(own, path, &own_reader, err);
        if (rc == 0)
            size = fs_reader_size(own_reader);
    }
    if (rc)
        return rc;
    r = mem_zalloc(1, sizeof(*r));
    r->base = (struct fs_reader){fs, size};
    r->path = mem_strdup(path);
    r->own = own_reader;
    *out = &r->base;
    return 0;
}

static int ask_read(struct lent *l,
                    const struct lent_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    struct err *err)
{
    struct buf *q = begin(l, LENT_READ, r->path);
    struct cursor in;
    int rc;
    buf_put_varint(q, r->base.size_bytes);
    buf_put_varint(q, offset);
    buf_put_varint(q, len);
    rc = ask(l, &in, err);
    if (rc)
        return rc;
    if (cursor_left(&in) != len)
        return err_set(err, ERR_CORRUPT, "%s: %zu bytes instead of %zu",
                       r->path, cursor_left(&in), len);
    if (len > 0)
        memcpy(dst, in.p, len);
    l->read_bytes += len;
    return 0;
}

static int read_own(struct lent_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    size_t *got,
                    struct err *err)
{
    struct fs *own = NULL;
    int rc = 0;
    if (!r->own)
        rc = own_of(lent_of(r->base.fs), &own, err);
    if (rc == 0 && !r->own)
        rc = fs_open(own, r->path, &r->own, err);
    return rc ? rc : fs_read_at(r->own, offset, dst, len, got, err);
}

static int lent_read_at(struct fs_reader *base,
                        uint64_t offset,
                        void *dst,
                        size_t len,
                        size_t *got,
                        struct err *err)
{
    struct lent_reader *r = (struct lent_reader *)base;
    struct lent *l = lent_of(base->fs);
    int rc = ERR_CLOSED;
    *got = 0;
    if (offset >= base->size_bytes)
        return 0;
    len = MIN_OF(len, base->size_bytes - offset);
    if (!r->own && len <= LENT_BYTES_MAX &&
        l->read_bytes + len <= LENT_READ_BYTES_MAX)
        rc = ask_read(l, r, offset, dst, len, err);
    if (rc == ERR_CLOSED)
        return read_own(r, offset, dst, len, got, err);
    if (rc == 0)
        *got = len;
    return rc;
}

static void lent_prefetch(struct fs_reader *r, uint64_t offset, uint64_t len)
{
    (void)r; /* A hint need not travel. */
    (void)offset;
    (void)len;
}

static void lent_reader_close(struct fs_reader *base)
{
    struct lent_reader *r = (struct lent_reader *)base;
    fs_reader_close(r->own);
    mem_free(r->path);
    mem_free(r);
}

/* The scheduler, which asks, borrows nothing. */
static size_t lent_locality(struct fs_reader *r,
                            uint64_t offset,
                            uint64_t len,
                            const char **machines,
                            size_t machines_max)
{
    (void)r;
    (void)offset;
    (void)len;
    (void)machines;
    (void)machines_max;
    return 0;
}

/* --- writing -------------------------------------------------------------- */

/* The file with what was appended so far, by a writer of its own. */
static int write_own(struct lent_writer *w, struct err *err)
{
    struct fs *own = NULL;
    int rc;
    if (w->own)
        return 0;
    rc = own_of(lent_of(w->base.fs), &own, err);
    if (rc == 0)
        rc = fs_create(own, w->path, &w->options, &w->own, err);
    if (rc == 0)
        rc = fs_writer_append(w->own, w->bytes.data, w->bytes.len, err);
    buf_clear(&w->bytes);
    return rc;
}

static void lent_writer_close(struct fs_writer *base)
{
    struct lent_writer *w = (struct lent_writer *)base;
    fs_writer_close(w->own);
    buf_close(&w->bytes);
    mem_free(w->path);
    mem_free(w);
}

static int lent_create(struct fs *fs,
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
        lent_writer_close(&w->base);
    else
        *out = &w->base;
    return rc;
}

static int lent_append(struct fs_writer *base,
                       const void *data,
                       size_t len,
                       struct err *err)
{
    struct lent_writer *w = (struct lent_writer *)base;
    int rc = 0;
    if (!w->own && len > LENT_BYTES_MAX - w->bytes.len)
        rc = write_own(w, err);
    if (rc == 0 && w->own)
        rc = fs_writer_append(w->own, data, len, err);
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
    struct buf *q = begin(l, LENT_PUT, w->path);
    struct cursor in;
    buf_put_varint(q, w->options.mode);
    buf_put_varint(q, w->options.replication);
    buf_put_lslice(q, buf_slice(&w->bytes));
    return ask(l, &in, err);
}

static int lent_sync(struct fs_writer *base, struct err *err)
{
    struct lent_writer *w = (struct lent_writer *)base;
    int rc = 0;
    if (w->put)
        return 0;
    if (!w->own) {
        rc = put(w, err);
        w->put = rc == 0;
        if (rc != ERR_CLOSED)
            return rc;
        rc = write_own(w, err);
    }
    return rc ? rc : fs_writer_sync(w->own, err);
}

/* --- names: with a file system of its own ----------------------------------
 */

static int
lent_recover(struct fs *fs, const char *path, uint64_t *length, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_recover(own, path, length, err);
}

static int
lent_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_rename(own, from, to, err);
}

static int lent_remove(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_remove(own, path, err);
}

static int lent_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_mkdirs(own, path, err);
}

static int lent_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_remove_tree(own, path, err);
}

static int lent_stat(struct fs *fs,
                     const char *path,
                     struct fs_info *info,
                     struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_stat(own, path, info, err);
}

static int lent_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_sync_dir(own, path, err);
}

static int lent_list(struct fs *fs,
                     const char *path,
                     char ***names,
                     size_t *count,
                     struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_list(own, path, names, count, err);
}

/* The lock is the other file system's, and let go of there. */
static int lent_lock(struct fs *fs,
                     const char *path,
                     struct fs_lock **out,
                     struct err *err)
{
    struct fs *own = NULL;
    int rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_lock(own, path, out, err);
}

/* --- its life --------------------------------------------------------------
 */

static void lent_close(struct fs *fs)
{
    struct lent *l = lent_of(fs);
    fs_close(l->own);
    buf_close(&l->question);
    mem_free(l->answer);
    mem_free(l);
}

static const struct fs_ops lent_ops = {
    .close = lent_close,
    .create = lent_create,
    .append = lent_append,
    .flush = lent_sync,
    .sync = lent_sync,
    .writer_close = lent_writer_close,
    .recover = lent_recover,
    .open = lent_open,
    .read_at = lent_read_at,
    .read_once_at = lent_read_at,
    .prefetch = lent_prefetch,
    .reader_close = lent_reader_close,
    .locality = lent_locality,
    .rename = lent_rename,
    .remove = lent_remove,
    .mkdirs = lent_mkdirs,
    .remove_tree = lent_remove_tree,
    .stat = lent_stat,
    .sync_dir = lent_sync_dir,
    .list = lent_list,
    .lock = lent_lock,
};

struct fs *
fs_lent_open(struct world *w, int socket, lent_open_own own, void *ctx)
{
    struct lent *l = mem_zalloc(1, sizeof(*l));
    l->base = (struct fs){&lent_ops, w};
    l->socket = socket;
    l->open_own = own;
    l->ctx = ctx;
    /* Borrowers before this one counted from elsewhere. */
    l->next_id = world_random(w);
    l->answer = mem_alloc(LENT_MESSAGE_MAX);
    return &l->base;
}

/* A borrowed file system: small things through the lender, the rest through one
 * of its own, or all through the lender. */
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
    lent_open_own open_own; /* NULL: the lender does everything. */
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
    bool opened; /* By the lender, as @handle. */
    uint64_t handle;
};

static const struct fs_ops lent_ops;

static struct lent *lent_of(struct fs *fs)
{
    return (struct lent *)fs;
}

static int own_of(struct lent *l, struct fs **out, struct err *err)
{
    int rc = 0;
    if (!l->own && !l->open_own)
        rc = err_set(err, ERR_UNAVAILABLE, "who lends files here is gone");
    else if (!l->own)
        rc = l->open_own(l->ctx, l->base.world, &l->own, err);
    *out = l->own;
    return rc;
}

/* Is it left to the lender, and to nobody else? */
static bool lender_only(const struct lent *l)
{
    return !l->open_own;
}

/* --- asking --------------------------------------------------------------- */

static struct buf *begin_any(struct lent *l, unsigned op)
{
    buf_clear(&l->question);
    buf_put_u8(&l->question, (uint8_t)op);
    buf_put_le64(&l->question, ++l->next_id);
    return &l->question;
}

static struct buf *begin(struct lent *l, enum lent_op op, const char *path)
{
    struct buf *q = begin_any(l, op);
    buf_put_lslice(q, slice_str(path));
    return q;
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

/* The same where nobody else could be asked. */
static int ask_only(struct lent *l, struct cursor *in, struct err *err)
{
    int rc = ask(l, in, err);
    struct fs *none;
    return rc == ERR_CLOSED ? own_of(l, &none, err) : rc;
}

int fs_lent_ask(struct fs *fs,
                unsigned op,
                struct slice body,
                struct cursor *in,
                struct err *err)
{
    struct lent *l = lent_of(fs);
    int rc;
    PRE(fs->ops == &lent_ops && op >= LENT_OTHER && op <= UINT8_MAX);
    buf_append_slice(begin_any(l, op), body);
    rc = ask(l, in, err);
    if (rc == ERR_CLOSED)
        err_set(err, ERR_CLOSED, "who lends files here is gone");
    return rc;
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

/* All of @len, a message at a time. */
static int read_lent(struct lent *l,
                     const struct lent_reader *r,
                     uint64_t offset,
                     void *dst,
                     size_t len,
                     size_t *got,
                     struct err *err)
{
    struct fs *none;
    int rc = 0;
    while (rc == 0 && *got < len) {
        size_t n = MIN_OF(len - *got, LENT_BYTES_MAX);
        rc = ask_read(l, r, offset + *got, (char *)dst + *got, n, err);
        if (rc == 0)
            *got += n;
    }
    return rc == ERR_CLOSED ? own_of(l, &none, err) : rc;
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
    if (lender_only(l))
        return read_lent(l, r, offset, dst, len, got, err);
    if (!r->own && len <= LENT_BYTES_MAX &&
        l->read_bytes + len <= LENT_READ_BYTES_MAX)
        rc = ask_read(l, r, offset, dst, len, err);
    if (rc == ERR_CLOSED)
        return read_own(r, offset, dst, len, got, err);
    if (rc == 0)
        *got = len;
    return rc;
}

/* A hint need not travel where others read what is large. */
static void lent_prefetch(struct fs_reader *base, uint64_t offset, uint64_t len)
{
    const struct lent_reader *r = (const struct lent_reader *)base;
    struct lent *l = lent_of(base->fs);
    struct cursor in;
    struct buf *q;
    if (!lender_only(l))
        return;
    q = begin(l, LENT_PREFETCH, r->path);
    buf_put_varint(q, offset);
    buf_put_varint(q, len);
    if (ask(l, &in, NULL)) {
        /* Reading will say what is wrong. */
    }
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

static int ask_create(struct lent_writer *w, struct err *err)
{
    struct lent *l = lent_of(w->base.fs);
    struct buf *q = begin(l, LENT_CREATE, w->path);
    struct cursor in;
    int rc;
    buf_put_varint(q, w->options.mode);
    buf_put_varint(q, w->options.replication);
    buf_put_varint(q, w->options.expected_bytes);
    buf_put_u8(q, w->options.exclusive);
    rc = ask_only(l, &in, err);
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
    struct buf *q = begin(l, op, "");
    struct cursor in;
    buf_put_varint(q, w->handle);
    if (op == LENT_APPEND)
        buf_put_lslice(q, bytes);
    return ask_only(l, &in, err);
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
    if (lender_only(lent_of(w->base.fs)))
        return write_lent(w, err);
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
    if (w->opened && ask_writer(w, LENT_CLOSE, SLICE_EMPTY, NULL)) {
        /* The lender closes it with the session. */
    }
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

/* --- names ---------------------------------------------------------------- */

/* What only a file system of the borrower's own does. */
static int own_alone(struct lent *l, struct fs **out, struct err *err)
{
    *out = NULL;
    if (lender_only(l))
        return err_set(err, ERR_UNSUPPORTED, "not with files that are lent");
    return own_of(l, out, err);
}

/* Ask about @path; @to: another, or NULL. */
static int ask_name(struct fs *fs,
                    enum lent_op op,
                    const char *path,
                    const char *to,
                    struct cursor *in,
                    struct err *err)
{
    struct lent *l = lent_of(fs);
    struct buf *q = begin(l, op, path);
    if (to)
        buf_put_lslice(q, slice_str(to));
    return ask_only(l, in, err);
}

static int
lent_recover(struct fs *fs, const char *path, uint64_t *length, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(lent_of(fs), &own, err);
    return rc ? rc : fs_recover(own, path, length, err);
}

static int
lent_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (lender_only(lent_of(fs)))
        return ask_name(fs, LENT_RENAME, from, to, &in, err);
    rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_rename(own, from, to, err);
}

static int lent_remove(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (lender_only(lent_of(fs)))
        return ask_name(fs, LENT_REMOVE, path, NULL, &in, err);
    rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_remove(own, path, err);
}

static int lent_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(lent_of(fs), &own, err);
    return rc ? rc : fs_mkdirs(own, path, err);
}

static int lent_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(lent_of(fs), &own, err);
    return rc ? rc : fs_remove_tree(own, path, err);
}

static int lent_stat(struct fs *fs,
                     const char *path,
                     struct fs_info *info,
                     struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (!lender_only(lent_of(fs))) {
        rc = own_of(lent_of(fs), &own, err);
        return rc ? rc : fs_stat(own, path, info, err);
    }
    rc = ask_name(fs, LENT_STAT, path, NULL, &in, err);
    if (rc)
        return rc;
    *info = (struct fs_info){.is_directory = cursor_u8(&in) != 0};
    info->size_bytes = cursor_varint(&in);
    return 0;
}

static int lent_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (lender_only(lent_of(fs)))
        return ask_name(fs, LENT_SYNC_DIR, path, NULL, &in, err);
    rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_sync_dir(own, path, err);
}

static int ask_list(struct fs *fs,
                    const char *path,
                    char ***names,
                    size_t *count,
                    struct err *err)
{
    struct cursor in;
    int rc = ask_name(fs, LENT_LIST, path, NULL, &in, err);
    if (rc)
        return rc;
    *names = mem_alloc((cursor_left(&in) + 1) * sizeof(char *));
    *count = 0;
    while (!in.bad && cursor_left(&in) > 0) {
        struct slice name = cursor_lslice(&in);
        if (!in.bad)
            (*names)[(*count)++] = mem_strndup(name.data, name.len);
    }
    return 0;
}

static int lent_list(struct fs *fs,
                     const char *path,
                     char ***names,
                     size_t *count,
                     struct err *err)
{
    struct fs *own = NULL;
    int rc;
    if (lender_only(lent_of(fs)))
        return ask_list(fs, path, names, count, err);
    rc = own_of(lent_of(fs), &own, err);
    return rc ? rc : fs_list(own, path, names, count, err);
}

/* The lock is the other file system's, and released there. */
static int lent_lock(struct fs *fs,
                     const char *path,
                     struct fs_lock **out,
                     struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(lent_of(fs), &own, err);
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
    l->base = (struct fs){.ops = &lent_ops, .world = w};
    l->socket = socket;
    l->open_own = own;
    l->ctx = ctx;
    /* Borrowers before this one counted from elsewhere. */
    l->next_id = world_random(w);
    l->answer = mem_alloc(LENT_MESSAGE_MAX);
    return &l->base;
}

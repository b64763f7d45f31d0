/* A borrowed file system: its life, how it asks, and names. Files are read and
 * written by lent_reader.c and lent_writer.c. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/lent_parts.h"

static const struct fs_ops lent_ops;

int lent__own(struct lent *l, struct fs **out, struct err *err)
{
    int rc = 0;
    if (!l->own && !l->open_own)
        rc = err_set(err, ERR_UNAVAILABLE, "who lends files here is gone");
    else if (!l->own)
        rc = l->open_own(l->ctx, l->base.world, &l->own, err);
    *out = l->own;
    return rc;
}

/* --- asking --------------------------------------------------------------- */

static struct buf *begin_any(struct lent *l, unsigned op)
{
    buf_clear(&l->question);
    buf_put_u8(&l->question, (uint8_t)op);
    buf_put_le64(&l->question, ++l->next_id);
    return &l->question;
}

struct buf *lent__begin(struct lent *l, enum lent_op op, const char *path)
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

int lent__ask(struct lent *l, struct cursor *in, struct err *err)
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

int lent__ask_only(struct lent *l, struct cursor *in, struct err *err)
{
    int rc = lent__ask(l, in, err);
    struct fs *none;
    return rc == ERR_CLOSED ? lent__own(l, &none, err) : rc;
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
    rc = lent__ask(l, in, err);
    if (rc == ERR_CLOSED)
        err_set(err, ERR_CLOSED, "who lends files here is gone");
    return rc;
}

/* --- names ---------------------------------------------------------------- */

/* What only a file system of the borrower's own does. */
static int own_alone(struct lent *l, struct fs **out, struct err *err)
{
    *out = NULL;
    if (lent__lender_only(l))
        return err_set(err, ERR_UNSUPPORTED, "not with files that are lent");
    return lent__own(l, out, err);
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
    struct buf *q = lent__begin(l, op, path);
    if (to)
        buf_put_lslice(q, slice_str(to));
    return lent__ask_only(l, in, err);
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
    if (lent__lender_only(lent_of(fs)))
        return ask_name(fs, LENT_RENAME, from, to, &in, err);
    rc = lent__own(lent_of(fs), &own, err);
    return rc ? rc : fs_rename(own, from, to, err);
}

static int lent_remove(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (lent__lender_only(lent_of(fs)))
        return ask_name(fs, LENT_REMOVE, path, NULL, &in, err);
    rc = lent__own(lent_of(fs), &own, err);
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
    if (!lent__lender_only(lent_of(fs))) {
        rc = lent__own(lent_of(fs), &own, err);
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
    if (lent__lender_only(lent_of(fs)))
        return ask_name(fs, LENT_SYNC_DIR, path, NULL, &in, err);
    rc = lent__own(lent_of(fs), &own, err);
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
    if (lent__lender_only(lent_of(fs)))
        return ask_list(fs, path, names, count, err);
    rc = lent__own(lent_of(fs), &own, err);
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
    .create = lent__create,
    .append = lent__append,
    .flush = lent__sync,
    .sync = lent__sync,
    .writer_close = lent__writer_close,
    .recover = lent_recover,
    .open = lent__open,
    .read_at = lent__read_at,
    .read_once_at = lent__read_at,
    .prefetch = lent__prefetch,
    .reader_close = lent__reader_close,
    .locality = lent__locality,
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

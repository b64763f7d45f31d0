/* The proxy client's file system: life, requests, and names. Files are read and
 * written by fs_proxy_reader.c and fs_proxy_writer.c. A request blocks the
 * thread: an attempt is one thread that has nothing else to do.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_proxy_parts.h"

static const struct fs_ops fs_proxy_ops;

int fs_proxy__own(struct fs_proxy *l, struct fs **out, struct err *err)
{
    int rc = 0;
    if (!l->own && !l->open_own)
        rc = err_set(err, ERR_UNAVAILABLE, "the file proxy is gone");
    else if (!l->own)
        rc = l->open_own(l->ctx, l->base.world, &l->own, err);
    *out = l->own;
    return rc;
}

/* --- asking -------------------------------------------------------------- */

static struct buf *begin_any(struct fs_proxy *l, unsigned op)
{
    buf_clear(&l->question);
    buf_put_u8(&l->question, (uint8_t)op);
    buf_put_le64(&l->question, ++l->next_id);
    return &l->question;
}

struct buf *
fs_proxy__begin(struct fs_proxy *l, enum fs_proxy_op op, const char *path)
{
    struct buf *q = begin_any(l, op);
    buf_put_lslice(q, slice_str(path));
    return q;
}

/* Receive the answer to the request, skipping answers to proxy clients before
 * this one. False: the proxy server is gone. */
static bool fs_proxy_receive(struct fs_proxy *l, struct cursor *in)
{
    for (;;) {
        ssize_t n = recv(l->socket, l->answer, FS_PROXY_MESSAGE_MAX, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        *in = cursor_make(slice_make(l->answer, (size_t)n));
        if (cursor_le64(in) == l->next_id)
            return true;
    }
}

static bool fs_proxy_exchange(struct fs_proxy *l, struct cursor *in)
{
    const struct buf *q = &l->question;
    ssize_t n;
    do
        n = send(l->socket, q->data, q->len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)q->len && fs_proxy_receive(l, in);
}

int fs_proxy__ask(struct fs_proxy *l, struct cursor *in, struct err *err)
{
    int64_t code;
    l->gone = l->gone || !fs_proxy_exchange(l, in);
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
        return err_set(err, ERR_CORRUPT, "malformed answer of a file proxy");
    return 0;
}

int fs_proxy__ask_only(struct fs_proxy *l, struct cursor *in, struct err *err)
{
    int rc = fs_proxy__ask(l, in, err);
    struct fs *none;
    return rc == ERR_CLOSED ? fs_proxy__own(l, &none, err) : rc;
}

int fs_proxy_call(struct fs *fs,
                  unsigned op,
                  struct slice body,
                  struct cursor *in,
                  struct err *err)
{
    struct fs_proxy *l = fs_proxy_of(fs);
    int rc;
    PRE(fs->ops == &fs_proxy_ops && op >= FS_PROXY_OTHER && op <= UINT8_MAX);
    buf_append_slice(begin_any(l, op), body);
    rc = fs_proxy__ask(l, in, err);
    if (rc == ERR_CLOSED)
        err_set(err, ERR_CLOSED, "the file proxy is gone");
    return rc;
}

/* --- names --------------------------------------------------------------- */

/* Operations that only the proxy client's own file system has. */
static int own_alone(struct fs_proxy *l, struct fs **out, struct err *err)
{
    *out = NULL;
    if (fs_proxy__lender_only(l))
        return err_set(err, ERR_UNSUPPORTED, "not through a file proxy");
    return fs_proxy__own(l, out, err);
}

/* Send a request about @path; @to: another path, or NULL. */
static int ask_name(struct fs *fs,
                    enum fs_proxy_op op,
                    const char *path,
                    const char *to,
                    struct cursor *in,
                    struct err *err)
{
    struct fs_proxy *l = fs_proxy_of(fs);
    struct buf *q = fs_proxy__begin(l, op, path);
    if (to)
        buf_put_lslice(q, slice_str(to));
    return fs_proxy__ask_only(l, in, err);
}

static int fs_proxy_recover(struct fs *fs,
                            const char *path,
                            uint64_t *length,
                            struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_recover(own, path, length, err);
}

static int fs_proxy_rename(struct fs *fs,
                           const char *from,
                           const char *to,
                           struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (fs_proxy__lender_only(fs_proxy_of(fs)))
        return ask_name(fs, FS_PROXY_RENAME, from, to, &in, err);
    rc = fs_proxy__own(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_rename(own, from, to, err);
}

static int fs_proxy_remove(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (fs_proxy__lender_only(fs_proxy_of(fs)))
        return ask_name(fs, FS_PROXY_REMOVE, path, NULL, &in, err);
    rc = fs_proxy__own(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_remove(own, path, err);
}

static int fs_proxy_mkdirs(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_mkdirs(own, path, err);
}

static int
fs_proxy_remove_tree(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_remove_tree(own, path, err);
}

static int fs_proxy_stat(struct fs *fs,
                         const char *path,
                         struct fs_info *info,
                         struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (!fs_proxy__lender_only(fs_proxy_of(fs))) {
        rc = fs_proxy__own(fs_proxy_of(fs), &own, err);
        return rc ? rc : fs_stat(own, path, info, err);
    }
    rc = ask_name(fs, FS_PROXY_STAT, path, NULL, &in, err);
    if (rc)
        return rc;
    *info = (struct fs_info){.is_directory = cursor_u8(&in) != 0};
    info->size_bytes = cursor_varint(&in);
    return 0;
}

static int fs_proxy_sync_dir(struct fs *fs, const char *path, struct err *err)
{
    struct fs *own = NULL;
    struct cursor in;
    int rc;
    if (fs_proxy__lender_only(fs_proxy_of(fs)))
        return ask_name(fs, FS_PROXY_SYNC_DIR, path, NULL, &in, err);
    rc = fs_proxy__own(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_sync_dir(own, path, err);
}

static int ask_list(struct fs *fs,
                    const char *path,
                    char ***names,
                    size_t *count,
                    struct err *err)
{
    struct cursor in;
    int rc = ask_name(fs, FS_PROXY_LIST, path, NULL, &in, err);
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

static int fs_proxy_list(struct fs *fs,
                         const char *path,
                         char ***names,
                         size_t *count,
                         struct err *err)
{
    struct fs *own = NULL;
    int rc;
    if (fs_proxy__lender_only(fs_proxy_of(fs)))
        return ask_list(fs, path, names, count, err);
    rc = fs_proxy__own(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_list(own, path, names, count, err);
}

/* The lock belongs to the own file system, which releases it. */
static int fs_proxy_lock(struct fs *fs,
                         const char *path,
                         struct fs_lock **out,
                         struct err *err)
{
    struct fs *own = NULL;
    int rc = own_alone(fs_proxy_of(fs), &own, err);
    return rc ? rc : fs_lock(own, path, out, err);
}

/* --- its life ------------------------------------------------------------ */

static void fs_proxy_close(struct fs *fs)
{
    struct fs_proxy *l = fs_proxy_of(fs);
    fs_close(l->own);
    buf_close(&l->question);
    mem_free(l->answer);
    mem_free(l);
}

static const struct fs_ops fs_proxy_ops = {
    .close = fs_proxy_close,
    .create = fs_proxy__create,
    .append = fs_proxy__append,
    .flush = fs_proxy__sync,
    .sync = fs_proxy__sync,
    .writer_close = fs_proxy__writer_close,
    .recover = fs_proxy_recover,
    .open = fs_proxy__open,
    .read_at = fs_proxy__read_at,
    .read_once_at = fs_proxy__read_at,
    .prefetch = fs_proxy__prefetch,
    .reader_close = fs_proxy__reader_close,
    .locality = fs_proxy__locality,
    .rename = fs_proxy_rename,
    .remove = fs_proxy_remove,
    .mkdirs = fs_proxy_mkdirs,
    .remove_tree = fs_proxy_remove_tree,
    .stat = fs_proxy_stat,
    .sync_dir = fs_proxy_sync_dir,
    .list = fs_proxy_list,
    .lock = fs_proxy_lock,
};

struct fs *
fs_proxy_connect(struct world *w, int socket, fs_proxy_open_own own, void *ctx)
{
    struct fs_proxy *l = mem_zalloc(1, sizeof(*l));
    l->base = (struct fs){.ops = &fs_proxy_ops, .world = w};
    l->socket = socket;
    l->open_own = own;
    l->ctx = ctx;
    /* Proxy clients before this one used other numbers. */
    l->next_id = world_random(w);
    l->answer = mem_alloc(FS_PROXY_MESSAGE_MAX);
    return &l->base;
}

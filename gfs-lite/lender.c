/* Lending a file system: answers for processes that have none open. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <bsd/sys/queue.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/lent.h"

/* Borrowers that come one after the other read the same files: a reader stays
 * open for the next one, so long and so many. */
#define KEEP_NS  UINT64_C(1000000000)
#define KEEP_MAX 64

struct kept_reader {
    LIST_ENTRY(kept_reader) link;
    char *path;
    struct fs_reader *reader;
    uint64_t opened_ns;
    unsigned users;
    bool listed;
};

struct lender {
    struct fs *fs;
    struct mutex lock;
    LIST_HEAD(, kept_reader) readers; /* Newest first. */
    unsigned count;
};

/* --- readers -------------------------------------------------------------- */

/* Under the lock. What nobody uses is taken from the list and handed back, to
 * be closed without the lock. */
static struct kept_reader *unlist(struct lender *l, struct kept_reader *k)
{
    LIST_REMOVE(k, link);
    l->count--;
    k->listed = false;
    return k->users == 0 ? k : NULL;
}

static void close_reader(struct kept_reader *k)
{
    if (!k)
        return;
    fs_reader_close(k->reader);
    mem_free(k->path);
    mem_free(k);
}

/* One that is open, and opened a moment ago; one that is too old goes. */
static struct kept_reader *
find_reader(struct lender *l, const char *path, struct kept_reader **old)
{
    uint64_t now = world_mono_ns(fs_world(l->fs));
    struct kept_reader *k;
    LIST_FOREACH(k, &l->readers, link)
    if (strcmp(k->path, path) == 0)
        break;
    if (k && now - k->opened_ns > KEEP_NS) {
        *old = unlist(l, k);
        k = NULL;
    }
    if (k)
        k->users++;
    return k;
}

static struct kept_reader *last_reader(struct lender *l)
{
    struct kept_reader *k;
    struct kept_reader *last = NULL;
    LIST_FOREACH(k, &l->readers, link)
    last = k;
    return last;
}

static int open_reader(struct lender *l,
                       const char *path,
                       struct kept_reader **out,
                       struct err *err)
{
    struct kept_reader *old = NULL;
    struct kept_reader *k = mem_zalloc(1, sizeof(*k));
    int rc = fs_open(l->fs, path, &k->reader, err);
    if (rc) {
        mem_free(k);
        return rc;
    }
    k->path = mem_strdup(path);
    k->opened_ns = world_mono_ns(fs_world(l->fs));
    k->users = 1;
    k->listed = true;
    mutex_lock(&l->lock);
    LIST_INSERT_HEAD(&l->readers, k, link);
    if (++l->count > KEEP_MAX)
        old = unlist(l, last_reader(l));
    mutex_unlock(&l->lock);
    close_reader(old);
    *out = k;
    return 0;
}

static int acquire(struct lender *l,
                   const char *path,
                   struct kept_reader **out,
                   struct err *err)
{
    struct kept_reader *old = NULL;
    mutex_lock(&l->lock);
    *out = find_reader(l, path, &old);
    mutex_unlock(&l->lock);
    close_reader(old);
    return *out ? 0 : open_reader(l, path, out, err);
}

/* @failed: the next one who wants the file opens it anew. */
static void release(struct lender *l, struct kept_reader *k, bool failed)
{
    struct kept_reader *unused = NULL;
    mutex_lock(&l->lock);
    k->users--;
    if (k->listed && failed)
        unused = unlist(l, k);
    else if (!k->listed && k->users == 0)
        unused = k;
    mutex_unlock(&l->lock);
    close_reader(unused);
}

struct lender *lender_new(struct fs *fs)
{
    struct lender *l = mem_zalloc(1, sizeof(*l));
    l->fs = fs;
    mutex_init(&l->lock);
    LIST_INIT(&l->readers);
    return l;
}

void lender_free(struct lender *l)
{
    struct kept_reader *k;
    if (!l)
        return;
    while ((k = LIST_FIRST(&l->readers)) != NULL) {
        PRE(k->users == 0);
        close_reader(unlist(l, k));
    }
    mutex_close(&l->lock);
    mem_free(l);
}

/* --- answers -------------------------------------------------------------- */

static int malformed(struct err *err)
{
    return err_set(err, ERR_CORRUPT, "malformed question to a lender of files");
}

static int
do_open(struct lender *l, const char *path, struct buf *out, struct err *err)
{
    struct kept_reader *k = NULL;
    int rc = acquire(l, path, &k, err);
    if (rc)
        return rc;
    buf_put_varint(out, fs_reader_size(k->reader));
    release(l, k, false);
    return 0;
}

static int do_read(struct lender *l,
                   const char *path,
                   struct cursor *in,
                   struct buf *out,
                   struct err *err)
{
    struct kept_reader *k = NULL;
    uint64_t size = cursor_varint(in);
    uint64_t offset = cursor_varint(in);
    uint64_t len = cursor_varint(in);
    size_t before = out->len;
    size_t got = 0;
    int rc;
    if (in->bad || len > LENT_BYTES_MAX)
        return malformed(err);
    rc = acquire(l, path, &k, err);
    if (rc)
        return rc;
    if (fs_reader_size(k->reader) != size)
        rc = err_set(err, ERR_ABORTED, "%s was replaced while it was read",
                     path);
    if (rc == 0 && offset < size)
        rc =
            fs_read_at(k->reader, offset, buf_extend(out, len), len, &got, err);
    release(l, k, rc != 0);
    out->len = before + got;
    return rc;
}

static int
do_put(struct lender *l, const char *path, struct cursor *in, struct err *err)
{
    uint64_t mode = cursor_varint(in);
    uint64_t replication = cursor_varint(in);
    struct slice bytes = cursor_lslice(in);
    struct fs_write_options o = {.replication = (uint32_t)replication};
    struct fs_writer *w = NULL;
    int rc;
    if (in->bad || mode > FS_WRITE_LOG || replication > UINT32_MAX ||
        bytes.len > LENT_BYTES_MAX)
        return malformed(err);
    o.mode = (enum fs_write_mode)mode;
    o.expected_bytes = bytes.len;
    rc = fs_create(l->fs, path, &o, &w, err);
    if (rc == 0)
        rc = fs_writer_append_sync(w, bytes.data, bytes.len, err);
    fs_writer_close(w);
    return rc;
}

static int
obey(struct lender *l, struct cursor *in, struct buf *out, struct err *err)
{
    uint8_t op = cursor_u8(in);
    uint64_t id = cursor_le64(in);
    struct slice path = cursor_lslice(in);
    char name[FS_PATH_BYTES_MAX + 1];
    size_t at = out->len;
    int rc;
    buf_put_le64(out, id);
    if (in->bad || path.len >= sizeof(name) || memchr(path.data, 0, path.len))
        return malformed(err);
    memcpy(name, path.data, path.len);
    name[path.len] = '\0';
    buf_put_zigzag(out, 0);
    if (op == LENT_OPEN)
        rc = do_open(l, name, out, err);
    else if (op == LENT_READ)
        rc = do_read(l, name, in, out, err);
    else if (op == LENT_PUT)
        rc = do_put(l, name, in, err);
    else
        rc = malformed(err);
    if (rc)
        out->len = at + 8;
    return rc;
}

void lender_answer(struct lender *l, struct slice message, struct buf *answer)
{
    struct cursor in = cursor_make(message);
    struct err err = ERR_INIT;
    buf_clear(answer);
    if (obey(l, &in, answer, &err) == 0)
        return;
    buf_put_zigzag(answer, err.code);
    buf_put_lslice(answer, slice_str(err.text));
    buf_put_lslice(answer, slice_str(err.hint));
}

/* --- serving -------------------------------------------------------------- */

/* An empty message reads as the end does. */
static bool is_over(int socket)
{
    struct pollfd p = {.fd = socket};
    return poll(&p, 1, 0) != 0;
}

void lender_serve(struct lender *l, int socket)
{
    char *message = mem_alloc(LENT_MESSAGE_MAX);
    struct buf answer = BUF_INIT;
    for (;;) {
        ssize_t n = recv(socket, message, LENT_MESSAGE_MAX, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (n == 0 && is_over(socket)))
            break;
        lender_answer(l, slice_make(message, (size_t)n), &answer);
        /* Who does not read what it asked for goes without. */
        if (send(socket, answer.data, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT) <
                0 &&
            is_over(socket))
            break;
    }
    buf_close(&answer);
    mem_free(message);
}

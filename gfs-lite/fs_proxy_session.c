/* The proxy server's side of one socket: decodes requests of one proxy client
 * after the other, checks them against the session's rules, and executes them.
 * Everything in a request is untrusted.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/trace/span.h"
#include "gfs-lite/fs.h"
#include "gfs-lite/fs_proxy.h"
#include "gfs-lite/fs_proxy_server.h"

struct fs_proxy_session {
    struct fs_proxy_server *proxy;
    struct fs_proxy_other other;
    struct mutex
        lock; /* Guards all below: limit() comes from another thread. */
    bool limited;
    char **reads; /* Owned, as are the paths. */
    size_t read_count;
    struct fs_proxy_prefix *writes; /* Owned, as are the paths. */
    size_t write_count;
    struct trace_context trace; /* Of the proxy client. */
    struct fs_writer **writers; /* By handle; NULL: closed. */
    size_t writer_count;
};

/* A request that is being answered. */
struct question {
    struct fs_proxy_session *session;
    enum fs_proxy_op op;
    char path[FS_PATH_BYTES_MAX + 1];
    struct cursor *in; /* Behind the path. */
    struct buf *out;
};

static int fs_proxy_session_malformed(struct err *err)
{
    return err_set(err, ERR_CORRUPT, "malformed request to a file proxy");
}

/* --- what is allowed ----------------------------------------------------- */

static int fs_proxy_session_refuse(const char *path, struct err *err)
{
    err_set(err, ERR_DENIED, "%s is no file of this attempt", path);
    err_hint(err, "a task opens its inputs and its outputs");
    return ERR_DENIED;
}

static int check_read(const struct question *q, struct err *err)
{
    const struct fs_proxy_session *s = q->session;
    if (!s->limited)
        return 0;
    for (size_t i = 0; i < s->read_count; i++)
        if (strcmp(s->reads[i], q->path) == 0)
            return 0;
    return fs_proxy_session_refuse(q->path, err);
}

/* The file system in which @path may be written, if it may. */
static int check_write(const struct fs_proxy_session *s,
                       const char *path,
                       struct fs **out,
                       struct err *err)
{
    *out = fs_proxy_server_fs(s->proxy);
    if (!s->limited)
        return 0;
    for (size_t i = 0; i < s->write_count; i++) {
        const struct fs_proxy_prefix *w = &s->writes[i];
        size_t n = strlen(w->path);
        if (strncmp(path, w->path, n) != 0 || strchr(path + n, '/'))
            continue;
        if (w->fs)
            *out = w->fs;
        return 0;
    }
    return fs_proxy_session_refuse(path, err);
}

/* The prefix in the directory @path; NULL: an unlimited session, or *@allowed
 * is false. */
static const struct fs_proxy_prefix *
find_directory(const struct fs_proxy_session *s,
               const char *path,
               bool *allowed)
{
    size_t n = strlen(path);
    *allowed = !s->limited;
    for (size_t i = 0; i < s->write_count && s->limited; i++) {
        const char *slash = strrchr(s->writes[i].path, '/');
        size_t len = slash ? (size_t)(slash - s->writes[i].path) : 0;
        *allowed = len == n && memcmp(s->writes[i].path, path, n) == 0;
        if (*allowed)
            return &s->writes[i];
    }
    return NULL;
}

static void close_writers(struct fs_proxy_session *s)
{
    for (size_t i = 0; i < s->writer_count; i++)
        fs_writer_close(s->writers[i]);
    mem_free(s->writers);
    s->writers = NULL;
    s->writer_count = 0;
}

static void drop_rules(struct fs_proxy_session *s)
{
    for (size_t i = 0; i < s->read_count; i++)
        mem_free(s->reads[i]);
    for (size_t i = 0; i < s->write_count; i++)
        mem_free((void *)(uintptr_t)s->writes[i].path);
    mem_free(s->reads);
    mem_free(s->writes);
    s->reads = NULL;
    s->writes = NULL;
    s->read_count = s->write_count = 0;
}

void fs_proxy_session_trace(struct fs_proxy_session *s,
                            const struct trace_context *trace)
{
    mutex_lock(&s->lock);
    s->trace = *trace;
    mutex_unlock(&s->lock);
}

void fs_proxy_session_limit(struct fs_proxy_session *s,
                            const struct fs_proxy_rules *rules)
{
    mutex_lock(&s->lock);
    close_writers(s);
    drop_rules(s);
    s->limited = true;
    s->read_count = rules->read_count;
    s->reads = mem_alloc((rules->read_count + 1) * sizeof(*s->reads));
    for (size_t i = 0; i < rules->read_count; i++)
        s->reads[i] = mem_strdup(rules->reads[i]);
    s->write_count = rules->write_count;
    s->writes = mem_alloc((rules->write_count + 1) * sizeof(*s->writes));
    for (size_t i = 0; i < rules->write_count; i++)
        s->writes[i] = (struct fs_proxy_prefix){
            mem_strdup(rules->writes[i].path), rules->writes[i].fs};
    mutex_unlock(&s->lock);
}

struct fs_proxy_session *
fs_proxy_session_new(struct fs_proxy_server *l,
                     const struct fs_proxy_other *other)
{
    struct fs_proxy_session *s = mem_zalloc(1, sizeof(*s));
    s->proxy = l;
    if (other)
        s->other = *other;
    mutex_init(&s->lock);
    return s;
}

void fs_proxy_session_free(struct fs_proxy_session *s)
{
    if (!s)
        return;
    close_writers(s);
    drop_rules(s);
    mutex_close(&s->lock);
    mem_free(s);
}

/* --- reading ------------------------------------------------------------- */

static int answer_open(const struct question *q, struct err *err)
{
    struct fs_proxy_server *l = q->session->proxy;
    struct kept_reader *k = NULL;
    int rc = check_read(q, err);
    if (rc == 0)
        rc = fs_proxy_server_acquire(l, q->path, &k, err);
    if (rc)
        return rc;
    buf_put_varint(q->out, fs_reader_size(k->reader));
    fs_proxy_server_release(l, k, false);
    return 0;
}

static int answer_read(const struct question *q, struct err *err)
{
    struct fs_proxy_server *l = q->session->proxy;
    struct kept_reader *k = NULL;
    uint64_t size = cursor_varint(q->in);
    uint64_t offset = cursor_varint(q->in);
    uint64_t len = cursor_varint(q->in);
    size_t before = q->out->len;
    size_t got = 0;
    int rc;
    if (q->in->bad || len > FS_PROXY_BYTES_MAX)
        return fs_proxy_session_malformed(err);
    rc = check_read(q, err);
    if (rc == 0)
        rc = fs_proxy_server_acquire(l, q->path, &k, err);
    if (rc)
        return rc;
    if (fs_reader_size(k->reader) != size)
        rc = err_set(err, ERR_ABORTED, "%s was replaced while it was read",
                     q->path);
    if (rc == 0 && offset < size)
        rc = fs_read_at(k->reader, offset, buf_extend(q->out, len), len, &got,
                        err);
    fs_proxy_server_release(l, k, rc != 0);
    q->out->len = before + got;
    return rc;
}

static int answer_prefetch(const struct question *q, struct err *err)
{
    struct fs_proxy_server *l = q->session->proxy;
    struct kept_reader *k = NULL;
    uint64_t offset = cursor_varint(q->in);
    uint64_t len = cursor_varint(q->in);
    int rc = q->in->bad ? fs_proxy_session_malformed(err) : check_read(q, err);
    if (rc == 0)
        rc = fs_proxy_server_acquire(l, q->path, &k, err);
    if (rc)
        return rc;
    fs_prefetch(k->reader, offset, len);
    fs_proxy_server_release(l, k, false);
    return 0;
}

/* --- writing ------------------------------------------------------------- */

static int write_options(const struct question *q,
                         struct fs_write_options *o,
                         struct err *err)
{
    uint64_t mode = cursor_varint(q->in);
    uint64_t replication = cursor_varint(q->in);
    if (q->in->bad || mode > FS_WRITE_LOG || replication > UINT32_MAX)
        return fs_proxy_session_malformed(err);
    *o = (struct fs_write_options){.mode = (enum fs_write_mode)mode,
                                   .replication = (uint32_t)replication};
    return 0;
}

static int answer_put(const struct question *q, struct err *err)
{
    struct fs_write_options o;
    struct fs_writer *w = NULL;
    struct slice bytes;
    struct fs *fs;
    int rc = write_options(q, &o, err);
    if (rc)
        return rc;
    bytes = cursor_lslice(q->in);
    if (q->in->bad || bytes.len > FS_PROXY_BYTES_MAX)
        return fs_proxy_session_malformed(err);
    o.expected_bytes = bytes.len;
    rc = check_write(q->session, q->path, &fs, err);
    if (rc == 0)
        rc = fs_create(fs, q->path, &o, &w, err);
    if (rc == 0)
        rc = fs_writer_append_sync(w, bytes.data, bytes.len, err);
    fs_writer_close(w);
    return rc;
}

/* A free handle for a writer; there are FS_PROXY_WRITERS_MAX. */
static int
new_handle(struct fs_proxy_session *s, size_t *handle, struct err *err)
{
    for (*handle = 0; *handle < s->writer_count; ++*handle)
        if (!s->writers[*handle])
            return 0;
    if (s->writer_count == FS_PROXY_WRITERS_MAX)
        return err_set(err, ERR_FULL, "an attempt writes %d files at a time",
                       FS_PROXY_WRITERS_MAX);
    s->writers = mem_realloc(s->writers, (s->writer_count + 1) *
                                             sizeof(struct fs_writer *));
    s->writers[s->writer_count++] = NULL;
    return 0;
}

static int answer_create(const struct question *q, struct err *err)
{
    struct fs_proxy_session *s = q->session;
    struct fs_write_options o;
    struct fs *fs;
    size_t handle;
    int rc = write_options(q, &o, err);
    if (rc)
        return rc;
    o.expected_bytes = cursor_varint(q->in);
    o.exclusive = cursor_u8(q->in) != 0;
    if (q->in->bad)
        return fs_proxy_session_malformed(err);
    rc = check_write(s, q->path, &fs, err);
    if (rc == 0)
        rc = new_handle(s, &handle, err);
    if (rc == 0)
        rc = fs_create(fs, q->path, &o, &s->writers[handle], err);
    if (rc == 0)
        buf_put_varint(q->out, handle);
    return rc;
}

/* Append to, flush, sync or close a writer that create() has opened. */
static int answer_writer(const struct question *q, struct err *err)
{
    struct fs_proxy_session *s = q->session;
    uint64_t handle = cursor_varint(q->in);
    struct slice bytes = SLICE_EMPTY;
    struct fs_writer *w;
    if (q->op == FS_PROXY_APPEND)
        bytes = cursor_lslice(q->in);
    if (q->in->bad || bytes.len > FS_PROXY_BYTES_MAX ||
        handle >= s->writer_count || !s->writers[handle])
        return fs_proxy_session_malformed(err);
    w = s->writers[handle];
    if (q->op == FS_PROXY_APPEND)
        return fs_writer_append(w, bytes.data, bytes.len, err);
    if (q->op == FS_PROXY_FLUSH)
        return fs_writer_flush(w, err);
    if (q->op == FS_PROXY_SYNC)
        return fs_writer_sync(w, err);
    fs_writer_close(w);
    s->writers[handle] = NULL;
    return 0;
}

/* --- names --------------------------------------------------------------- */

static int answer_rename(const struct question *q, struct err *err)
{
    struct slice name = cursor_lslice(q->in);
    char to[FS_PATH_BYTES_MAX + 1];
    struct fs *fs;
    struct fs *there;
    int rc;
    if (q->in->bad || name.len >= sizeof(to) || memchr(name.data, 0, name.len))
        return fs_proxy_session_malformed(err);
    memcpy(to, name.data, name.len);
    to[name.len] = '\0';
    rc = check_write(q->session, q->path, &fs, err);
    if (rc == 0)
        rc = check_write(q->session, to, &there, err);
    if (rc == 0 && fs != there)
        rc = fs_proxy_session_refuse(to, err);
    return rc ? rc : fs_rename(fs, q->path, to, err);
}

static int answer_remove(const struct question *q, struct err *err)
{
    struct fs *fs;
    int rc = check_write(q->session, q->path, &fs, err);
    return rc ? rc : fs_remove(fs, q->path, err);
}

static int answer_stat(const struct question *q, struct err *err)
{
    struct fs_info info;
    struct fs *fs;
    int rc = check_write(q->session, q->path, &fs, NULL);
    if (rc)
        rc = check_read(q, err);
    if (rc == 0)
        rc = fs_stat(fs, q->path, &info, err);
    if (rc)
        return rc;
    buf_put_u8(q->out, info.is_directory);
    buf_put_varint(q->out, info.size_bytes);
    return 0;
}

/* Append those of @names that begin as @only does. */
static int put_names(const struct question *q,
                     char **names,
                     size_t count,
                     const struct fs_proxy_prefix *only,
                     struct err *err)
{
    const char *slash = only ? strrchr(only->path, '/') : NULL;
    const char *begin = slash ? slash + 1 : only ? only->path : "";
    size_t from = q->out->len;
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], begin, strlen(begin)) == 0)
            buf_put_lslice(q->out, slice_str(names[i]));
    if (q->out->len - from > FS_PROXY_BYTES_MAX)
        return err_set(err, ERR_TOOBIG, "%s: too many names for one answer",
                       q->path);
    return 0;
}

static int answer_list(const struct question *q, struct err *err)
{
    const struct fs_proxy_session *s = q->session;
    char **names = NULL;
    size_t count = 0;
    bool allowed;
    const struct fs_proxy_prefix *w = find_directory(s, q->path, &allowed);
    int rc;
    if (!allowed)
        return fs_proxy_session_refuse(q->path, err);
    rc = fs_list(w && w->fs ? w->fs : fs_proxy_server_fs(s->proxy), q->path,
                 &names, &count, err);
    if (rc == 0)
        rc = put_names(q, names, count, w, err);
    fs_names_free(names, count);
    return rc;
}

static int answer_sync_dir(const struct question *q, struct err *err)
{
    const struct fs_proxy_session *s = q->session;
    bool allowed;
    const struct fs_proxy_prefix *w = find_directory(s, q->path, &allowed);
    if (!allowed)
        return fs_proxy_session_refuse(q->path, err);
    return fs_sync_dir(w && w->fs ? w->fs : fs_proxy_server_fs(s->proxy),
                       q->path, err);
}

/* --- questions ----------------------------------------------------------- */

static int answer_file(const struct question *q, struct err *err)
{
    switch (q->op) {
    case FS_PROXY_OPEN: return answer_open(q, err);
    case FS_PROXY_READ: return answer_read(q, err);
    case FS_PROXY_PUT: return answer_put(q, err);
    case FS_PROXY_CREATE: return answer_create(q, err);
    case FS_PROXY_APPEND:
    case FS_PROXY_FLUSH:
    case FS_PROXY_SYNC:
    case FS_PROXY_CLOSE: return answer_writer(q, err);
    case FS_PROXY_RENAME: return answer_rename(q, err);
    case FS_PROXY_REMOVE: return answer_remove(q, err);
    case FS_PROXY_STAT: return answer_stat(q, err);
    case FS_PROXY_LIST: return answer_list(q, err);
    case FS_PROXY_SYNC_DIR: return answer_sync_dir(q, err);
    case FS_PROXY_PREFETCH: return answer_prefetch(q, err);
    case FS_PROXY_OTHER: break;
    }
    return fs_proxy_session_malformed(err);
}

static int ask_file(struct fs_proxy_session *s,
                    uint8_t op,
                    struct cursor *in,
                    struct buf *out,
                    struct err *err)
{
    struct question q = {.session = s, .in = in, .out = out};
    struct slice path = cursor_lslice(in);
    int rc;
    if (in->bad || op > FS_PROXY_PREFETCH || path.len >= sizeof(q.path) ||
        memchr(path.data, 0, path.len))
        return fs_proxy_session_malformed(err);
    q.op = (enum fs_proxy_op)op;
    memcpy(q.path, path.data, path.len);
    q.path[path.len] = '\0';
    mutex_lock(&s->lock);
    rc = answer_file(&q, err);
    mutex_unlock(&s->lock);
    return rc;
}

static int fs_proxy_session_ask(struct fs_proxy_session *s,
                                struct cursor *in,
                                struct buf *out,
                                struct err *err)
{
    uint8_t op = cursor_u8(in);
    uint64_t id = cursor_le64(in);
    size_t at = out->len;
    int rc;
    buf_put_le64(out, id);
    if (in->bad)
        return fs_proxy_session_malformed(err);
    buf_put_zigzag(out, 0);
    if (op >= FS_PROXY_OTHER && s->other.answer)
        rc = s->other.answer(s->other.ctx, op, in, out, err);
    else
        rc = ask_file(s, op, in, out, err);
    if (rc)
        out->len = at + 8;
    return rc;
}

/* The place in a trace that a thread has while it works for a proxy client. */
struct session_place {
    struct trace_context trace;
    void *outer;
};

static void session_enter_trace(struct fs_proxy_session *s,
                                struct session_place *p)
{
    mutex_lock(&s->lock);
    p->trace = s->trace;
    mutex_unlock(&s->lock);
    p->outer = fiber_context();
    if (trace_id_is_set(p->trace.trace))
        (void)fiber_set_context(&p->trace);
}

static void session_leave_trace(const struct session_place *p)
{
    (void)fiber_set_context(p->outer);
}

void fs_proxy_session_answer(struct fs_proxy_session *s,
                             struct slice message,
                             struct buf *answer)
{
    struct cursor in = cursor_make(message);
    struct session_place place;
    struct err err = ERR_INIT;
    int rc;
    buf_clear(answer);
    session_enter_trace(s, &place);
    rc = fs_proxy_session_ask(s, &in, answer, &err);
    session_leave_trace(&place);
    if (rc == 0)
        return;
    buf_put_zigzag(answer, err.code);
    buf_put_lslice(answer, slice_str(err.text));
    buf_put_lslice(answer, slice_str(err.hint));
}

/* --- serving ------------------------------------------------------------- */

/* An empty message looks like the end of the stream. */
static bool is_over(int socket)
{
    struct pollfd p = {.fd = socket};
    return poll(&p, 1, 0) != 0;
}

void fs_proxy_session_serve(struct fs_proxy_session *s, int socket)
{
    char *message = mem_alloc(FS_PROXY_MESSAGE_MAX);
    struct buf answer = BUF_INIT;
    for (;;) {
        ssize_t n = recv(socket, message, FS_PROXY_MESSAGE_MAX, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || (n == 0 && is_over(socket)))
            break;
        fs_proxy_session_answer(s, slice_make(message, (size_t)n), &answer);
        /* A client that does not read its answers gets none. */
        if (send(socket, answer.data, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT) <
                0 &&
            is_over(socket))
            break;
        if (s->other.after) {
            struct session_place place;
            session_enter_trace(s, &place);
            s->other.after(s->other.ctx);
            session_leave_trace(&place);
        }
    }
    buf_close(&answer);
    mem_free(message);
}

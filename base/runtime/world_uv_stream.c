/* Streams of the real world: non-blocking sockets; uv reports when they are
 * ready.
 *
 * A call tries the socket first. When that would block, the fiber registers as
 * reader or writer and parks; uv's callback wakes it. The watch stays on,
 * because a woken fiber nearly always reads until the socket is empty and waits
 * again; it is removed when it fires and no fiber waits.
 *
 * A socket is freed once it is closed, uv has released it, and no fiber is
 * inside a call on it.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/panic.h"
#include "base/runtime/descriptors.h"
#include "base/runtime/log.h"
#include "base/runtime/stream_ops.h"
#include "base/runtime/world_uv_address.h"
#include "base/runtime/world_uv_loop.h"

#define LISTEN_BACKLOG  512
#define WRITE_PARTS_MAX 64
/* Pause after accept() failed for lack of descriptors: others may close
 * some. */
#define ACCEPT_RETRY_US 50000
#define TELL_NS         UINT64_C(60000000000)

/* A socket: a stream's or a listener's. */
struct sock {
    int fd;
    uv_poll_t poll;
    int watched;          /* UV_READABLE, UV_WRITABLE: the events uv watches
                             for. */
    struct fiber *reader; /* Parked until it is readable, */
    struct fiber *writer; /* or writable. */
    bool closed;
};

struct uv_sock_stream {
    struct stream base;
    struct sock sock;
    bool is_local;
};

struct uv_sock_listener {
    struct stream_listener base;
    struct sock sock;
    unsigned users; /* The owner, uv, a fiber in accept. */
    bool is_unix;
    uint64_t turned_away; /* Connections refused for lack of descriptors, */
    uint64_t told_ns;     /* and when the log last reported it. */
    char *unix_path;      /* To remove at the end; NULL for TCP. Owned. */
};

static struct sock *stream_sock(struct stream *s)
{
    return &((struct uv_sock_stream *)s)->sock;
}

/* --- waiting ------------------------------------------------------------- */

static void on_ready(uv_poll_t *handle, int status, int events);

static void world_uv_stream_watch(struct sock *k, int events)
{
    if (k->watched == events)
        return;
    k->watched = events;
    if (events == 0)
        uv_poll_stop(&k->poll);
    else if (uv_poll_start(&k->poll, events, on_ready) != 0)
        PANIC("uv_poll_start");
}

static void on_ready(uv_poll_t *handle, int status, int events)
{
    struct sock *k = handle->data;
    int keep = UV_READABLE;
    if (status < 0)
        events = UV_READABLE | UV_WRITABLE; /* The call will find out why. */
    if ((events & UV_READABLE) && !k->reader)
        keep = 0;
    if (k->writer && !(events & UV_WRITABLE))
        keep |= UV_WRITABLE;
    if ((events & UV_READABLE) && k->reader)
        fiber_wake(k->reader);
    if ((events & UV_WRITABLE) && k->writer)
        fiber_wake(k->writer);
    world_uv_stream_watch(k, keep & k->watched);
}

/* Park until the socket may be read or written; @side is its `reader` or
 * `writer`. */
static int
wait_ready(struct sock *k, struct fiber **side, int event, struct err *err)
{
    int rc;
    PRE(!*side); /* One reader and one writer at a time. */
    *side = fiber_self();
    world_uv_stream_watch(k, k->watched | event);
    rc = fiber_park_checked(err);
    *side = NULL;
    return rc;
}

static void close_sock(struct sock *k, uv_close_cb on_closed)
{
    PRE(!k->closed);
    k->closed = true;
    uv_poll_stop(&k->poll);
    uv_close((uv_handle_t *)&k->poll, on_closed);
    close(k->fd);
    if (k->reader)
        fiber_wake(k->reader);
    if (k->writer)
        fiber_wake(k->writer);
}

/* Give @fd to uv. On failure it is closed. */
static int init_sock(struct loop *l, struct sock *k, int fd, struct err *err)
{
    int rc;
    k->fd = fd;
    rc = uv_poll_init(&uv_loop_of(l)->uv, &k->poll, fd);
    if (rc) {
        close(fd);
        return err_set_errno(err, -rc, "watch a socket");
    }
    k->poll.data = k;
    return 0;
}

/* --- reading and writing ------------------------------------------------- */

static int io_error(const struct stream *s, const char *what, struct err *err)
{
    int errnum = errno;
    if (errnum == EPIPE || errnum == ECONNRESET)
        return err_set(err, ERR_CLOSED, "%s %s: %s", what, s->peer,
                       strerror(errnum));
    return err_set_errno(err, errnum, "%s %s", what, s->peer);
}

static int read_sock(struct stream *s,
                     void *dst,
                     size_t len,
                     size_t *got,
                     bool *end,
                     struct err *err)
{
    ssize_t n;
    do {
        n = recv(stream_sock(s)->fd, dst, len, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return io_error(s, "read from", err);
    *got = n > 0 ? (size_t)n : 0;
    *end = n == 0;
    return 0;
}

/* Describe the parts from byte @skip of the first on. */
static size_t fill_vector(const struct slice *parts,
                          size_t count,
                          size_t skip,
                          struct iovec *v)
{
    size_t n = 0;
    for (size_t i = 0; i < count && n < WRITE_PARTS_MAX; i++) {
        v[n].iov_base = (void *)((uintptr_t)parts[i].data + skip);
        v[n].iov_len = parts[i].len - skip;
        skip = 0;
        if (v[n].iov_len)
            n++;
    }
    return n;
}

static int write_sock(struct stream *s,
                      const struct slice *parts,
                      size_t count,
                      size_t skip,
                      size_t *done,
                      struct err *err)
{
    struct iovec v[WRITE_PARTS_MAX];
    struct msghdr msg = {.msg_iov = v};
    ssize_t n;
    msg.msg_iovlen = fill_vector(parts, count, skip, v);
    do {
        n = sendmsg(stream_sock(s)->fd, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return io_error(s, "write to", err);
    *done = n > 0 ? (size_t)n : 0;
    return 0;
}

static int write_file(struct stream *s,
                      struct file *f,
                      uint64_t offset,
                      size_t len,
                      size_t *done,
                      struct err *err)
{
    off_t at = (off_t)offset;
    ssize_t n;
    do {
        n = sendfile(stream_sock(s)->fd, real_file_descriptor(f), &at, len);
    } while (n < 0 && errno == EINTR);
    if (n == 0)
        return err_set(err, ERR_IO, "write to %s: the file is too short",
                       s->peer);
    if (n < 0 && errno != EAGAIN)
        return io_error(s, "write to", err);
    *done = n > 0 ? (size_t)n : 0;
    return 0;
}

static int wait_sock(struct stream *s, enum stream_side side, struct err *err)
{
    struct sock *k = stream_sock(s);
    return side == STREAM_READING ? wait_ready(k, &k->reader, UV_READABLE, err)
                                  : wait_ready(k, &k->writer, UV_WRITABLE, err);
}

static void on_stream_closed(uv_handle_t *handle)
{
    struct sock *k = handle->data;
    stream__drop(&CONTAINER_OF(k, struct uv_sock_stream, sock)->base);
}

static void close_stream(struct stream *s)
{
    s->users++; /* uv's, until its close callback. */
    close_sock(stream_sock(s), on_stream_closed);
}

static void free_stream(struct stream *s)
{
    mem_free(s);
}

static void end_writing(struct stream *s)
{
    (void)!shutdown(((struct uv_sock_stream *)s)->sock.fd, SHUT_WR);
}

static bool is_local_stream(const struct stream *s)
{
    return ((const struct uv_sock_stream *)s)->is_local;
}

/* --- passing files ------------------------------------------------------- */

/* Room for one descriptor in a message, aligned as the system wants it. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool passes_files(const struct stream *s)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);
    int fd = ((const struct uv_sock_stream *)s)->sock.fd;
    return getsockname(fd, (struct sockaddr *)&a, &len) == 0 &&
           a.ss_family == AF_UNIX;
}

static int
send_file(struct stream *s, struct file *f, bool *done, struct err *err)
{
    char byte = 'F';
    struct iovec v = {&byte, 1};
    union control c = {.bytes = {0}};
    struct msghdr msg = {.msg_iov = &v,
                         .msg_iovlen = 1,
                         .msg_control = &c,
                         .msg_controllen = sizeof(c)};
    int fd = real_file_descriptor(f);
    ssize_t n;
    if (!passes_files(s))
        return err_set(err, ERR_UNSUPPORTED, "%s: not a Unix socket", s->peer);
    c.header.cmsg_level = SOL_SOCKET;
    c.header.cmsg_type = SCM_RIGHTS;
    c.header.cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(&c.header), &fd, sizeof(fd));
    do {
        n = sendmsg(stream_sock(s)->fd, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return io_error(s, "pass a file to", err);
    *done = n > 0;
    return 0;
}

static int receive_file(struct stream *s, struct file **out, struct err *err)
{
    char byte;
    struct iovec v = {&byte, 1};
    union control c = {.bytes = {0}};
    struct msghdr msg = {.msg_iov = &v,
                         .msg_iovlen = 1,
                         .msg_control = &c,
                         .msg_controllen = sizeof(c)};
    struct cmsghdr *h;
    int fd = -1;
    ssize_t n;
    do {
        n = recvmsg(stream_sock(s)->fd, &msg, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : io_error(s, "take a file from", err);
    if (n == 0)
        return err_set(err, ERR_CLOSED, "%s: the connection ended", s->peer);
    if (msg.msg_flags & MSG_CTRUNC) /* This process has too many. */
        return err_set(err, ERR_EXHAUSTED, "%s: no descriptor for a file",
                       s->peer);
    h = CMSG_FIRSTHDR(&msg);
    if (!h || h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS ||
        h->cmsg_len != CMSG_LEN(sizeof(fd)))
        return err_set(err, ERR_CORRUPT, "%s: passed no file", s->peer);
    memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    *out = real_file_adopt(loop_world(s->loop), fd, s->peer);
    return 0;
}

/* --- listening ----------------------------------------------------------- */

static int
accept_sock(struct stream_listener *base, struct stream **out, struct err *err);
static void close_listener(struct stream_listener *base);

static const struct stream_ops uv_stream_ops = {
    .read = read_sock,
    .write = write_sock,
    .write_file = write_file,
    .passes_files = passes_files,
    .send_file = send_file,
    .receive_file = receive_file,
    .wait = wait_sock,
    .end_writing = end_writing,
    .close = close_stream,
    .free = free_stream,
    .is_local = is_local_stream,
    .accept = accept_sock,
    .listener_close = close_listener,
};

/* A stream over the connected @fd; on failure that is closed. */
static int new_stream(struct loop *l,
                      int fd,
                      const struct sockaddr_storage *peer,
                      struct stream **out,
                      struct err *err)
{
    struct uv_sock_stream *s = mem_zalloc(1, sizeof(*s));
    int one = 1;
    int rc;
    s->base.ops = &uv_stream_ops;
    s->base.loop = l;
    s->base.users = 1;
    s->is_local = address_is_local(peer);
    address_print(peer, s->base.peer, sizeof(s->base.peer));
    if (peer->ss_family != AF_UNIX)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    rc = init_sock(l, &s->sock, fd, err);
    if (rc) {
        mem_free(s);
        return rc;
    }
    *out = &s->base;
    return 0;
}

static void drop_listener(struct uv_sock_listener *l)
{
    if (--l->users == 0)
        mem_free(l);
}

/* Log that connections are refused, once a minute. */
static void note_shortage(struct uv_sock_listener *l, const char *why)
{
    uint64_t now_ns = world_mono_ns(loop_world(l->base.loop));
    l->turned_away++;
    if (l->told_ns && now_ns - l->told_ns < TELL_NS)
        return;
    log_warn(loop_world(l->base.loop), "stream",
             "connections wait or are closed on=%s why=\"%s\" limit=%zu "
             "count=%llu",
             l->base.address, why, descriptors_limit(),
             (unsigned long long)l->turned_away);
    l->told_ns = now_ns;
}

/* Accept failed: connections that are gone already are ignored, and a lack
 * of descriptors or memory is temporary. Parks. */
static int pass_failure(struct uv_sock_listener *l, int errnum, struct err *err)
{
    switch (errnum) {
    case EAGAIN: return wait_ready(&l->sock, &l->sock.reader, UV_READABLE, err);
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP:
    case EFAULT:
        return err_set_errno(err, errnum, "accept on %s", l->base.address);
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        note_shortage(l, strerror(errnum));
        world_sleep_us(loop_world(l->base.loop), ACCEPT_RETRY_US);
        break;
    default: break;
    }
    return fiber_check(err);
}

/* One try: *@out stays -1 when there is nothing yet. Parks. */
static int accept_once(struct uv_sock_listener *l,
                       struct sockaddr_storage *peer,
                       int *out,
                       struct err *err)
{
    socklen_t len = sizeof(*peer);
    int fd;
    if (l->sock.closed)
        return err_set(err, ERR_CLOSED, "%s: closed", l->base.address);
    fd = accept4(l->sock.fd, (struct sockaddr *)peer, &len,
                 SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return pass_failure(l, errno, err);
    if (descriptors_admit(fd, l->is_unix)) {
        *out = fd;
        return 0;
    }
    close(fd);
    note_shortage(l, "the other descriptors are for files");
    return fiber_check(err);
}

static int
accept_sock(struct stream_listener *base, struct stream **out, struct err *err)
{
    struct uv_sock_listener *listener = (struct uv_sock_listener *)base;
    struct loop *l = base->loop;
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    int fd = -1;
    int rc = 0;
    listener->users++;
    while (rc == 0 && fd < 0)
        rc = accept_once(listener, &peer, &fd, err);
    drop_listener(listener);
    return rc ? rc : new_stream(l, fd, &peer, out, err);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct sock *k = handle->data;
    drop_listener(CONTAINER_OF(k, struct uv_sock_listener, sock));
}

static void close_listener(struct stream_listener *base)
{
    struct uv_sock_listener *l = (struct uv_sock_listener *)base;
    if (l->unix_path) {
        unlink(l->unix_path);
        mem_free(l->unix_path);
        l->unix_path = NULL;
    }
    close_sock(&l->sock, on_listener_closed);
}

static bool is_abstract(const struct resolved *a)
{
    return a->family == AF_UNIX &&
           ((const struct sockaddr_un *)&a->addr)->sun_path[0] == '\0';
}

/* Remove the path of a process that is gone: connecting to it fails. */
static void remove_stale(const struct resolved *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&a->addr, a->len) < 0 &&
        errno == ECONNREFUSED)
        unlink(((const struct sockaddr_un *)&a->addr)->sun_path);
    close(fd);
}

static int open_listener(const char *address,
                         struct resolved *a,
                         int *out,
                         struct err *err)
{
    int one = 1;
    int fd = socket(a->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, errno, "listen on %s", address);
    if (a->family == AF_UNIX && !is_abstract(a))
        remove_stale(a);
    else if (a->family != AF_UNIX)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&a->addr, a->len) < 0 ||
        listen(fd, LISTEN_BACKLOG) < 0) {
        int errnum = errno;
        close(fd);
        if (errnum == EADDRINUSE)
            return err_set(err, ERR_BUSY, "listen on %s: %s", address,
                           strerror(errnum));
        return err_set_errno(err, errnum, "listen on %s", address);
    }
    a->len = sizeof(a->addr);
    getsockname(fd, (struct sockaddr *)&a->addr, &a->len);
    *out = fd;
    return 0;
}

int real_listen(struct loop *loop,
                const char *address,
                struct stream_listener **out,
                struct err *err)
{
    struct uv_sock_listener *l;
    struct resolved a;
    int fd = -1;
    int rc = address_resolve(address, true, &a, err);
    if (rc == 0)
        rc = open_listener(address, &a, &fd, err);
    address_release(&a);
    if (rc)
        return rc;
    l = mem_zalloc(1, sizeof(*l));
    l->base.ops = &uv_stream_ops;
    l->base.loop = loop;
    l->users = 1;
    l->base.is_local = address_is_local(&a.addr);
    l->is_unix = a.family == AF_UNIX;
    address_print(&a.addr, l->base.address, sizeof(l->base.address));
    if (a.family == AF_UNIX && !is_abstract(&a)) {
        l->unix_path = mem_strdup(address + strlen("unix:"));
        snprintf(l->base.address, sizeof(l->base.address), "%s", address);
    }
    rc = init_sock(loop, &l->sock, fd, err);
    if (rc) {
        mem_free(l->unix_path);
        mem_free(l);
        return rc;
    }
    *out = &l->base;
    return 0;
}

/* --- connecting ---------------------------------------------------------- */

static int connect_error(const char *address, int errnum, struct err *err)
{
    switch (errnum) {
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
    case ENOENT:
        err_set(err, ERR_UNAVAILABLE, "connect to %s: %s", address,
                strerror(errnum));
        if (errnum == ECONNREFUSED)
            err_set_detail(err, ERR_DETAIL_REFUSED, "");
        return ERR_UNAVAILABLE;
    default: return err_set_errno(err, errnum, "connect to %s", address);
    }
}

/* Park until the connection is established or has failed. No other fiber
 * uses it yet. */
static int
await_connected(struct stream *s, const char *address, struct err *err)
{
    struct sock *k = stream_sock(s);
    int rc = 0;
    while (rc == 0) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);
        int errnum = 0;
        if (getpeername(k->fd, (struct sockaddr *)&peer, &len) == 0)
            break;
        len = sizeof(errnum);
        getsockopt(k->fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
        rc = errnum ? connect_error(address, errnum, err)
                    : wait_ready(k, &k->writer, UV_WRITABLE, err);
    }
    return rc;
}

/* Any user can bind a name outside the file system, so only servers of this
 * user and of root are trusted. */
static int check_owner(struct stream *s, struct err *err)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(stream_sock(s)->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ==
            0 &&
        (peer.uid == geteuid() || peer.uid == 0))
        return 0;
    return err_set(err, ERR_DENIED, "%s is served by another user", s->peer);
}

/* Begin to connect: *@out is the socket, @a the address. */
static int begin_connecting(const char *address,
                            struct resolved *a,
                            int *out,
                            struct err *err)
{
    int fd = socket(a->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set_errno(err, errno, "connect to %s", address);
    if (connect(fd, (struct sockaddr *)&a->addr, a->len) < 0 &&
        errno != EINPROGRESS) {
        int errnum = errno;
        close(fd);
        return connect_error(address, errnum, err);
    }
    *out = fd;
    return 0;
}

int real_connect(struct loop *l,
                 const char *address,
                 struct stream **out,
                 struct err *err)
{
    struct stream *s = NULL;
    struct resolved a;
    int fd = -1;
    int rc = address_resolve(address, false, &a, err);
    if (rc == 0)
        rc = begin_connecting(address, &a, &fd, err);
    address_release(&a);
    if (rc == 0)
        rc = new_stream(l, fd, &a.addr, &s, err);
    if (rc)
        return rc;
    if (a.family == AF_UNIX && !is_abstract(&a))
        snprintf(s->peer, sizeof(s->peer), "%s", address);
    rc = await_connected(s, address, err);
    if (rc == 0 && is_abstract(&a))
        rc = check_owner(s, err);
    log_debug(loop_world(l), "stream", "connect address=%s code=%d", address,
              rc);
    if (rc)
        stream_close(s);
    else
        *out = s;
    return rc;
}

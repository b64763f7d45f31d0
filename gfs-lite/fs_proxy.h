/* A file system for a process that has no connections: a short-lived process
 * reads and writes through one that has the file system open.
 *
 * The two hold the ends of a pair of sockets (AF_UNIX, SOCK_SEQPACKET). If the
 * proxy client can open the file system itself, the proxy does small reads and
 * writes small files, and the client opens its own for the rest: large files
 * would only be copied once more. It does so too when the proxy server is gone.
 * An untrusted proxy client has no file system of its own, and the proxy server
 * does everything.
 *
 * Proxy clients may use the same end one after the other, and may die at any
 * point: the next one skips answers to the one before. They may be hostile. A
 * limited session opens, writes, renames and removes only files that its
 * fs_proxy_rules name; an unlimited one has the proxy server's rights. Nothing
 * else that they send does harm.
 *
 * Message: op:u8 id:le64 path:lslice, then of FS_PROXY_READ size:varint
 * offset:varint len:varint; of FS_PROXY_PREFETCH offset:varint len:varint; of
 * FS_PROXY_PUT mode:varint replication:varint bytes:lslice; of FS_PROXY_CREATE
 * mode:varint replication:varint expected:varint exclusive:u8; of
 * FS_PROXY_APPEND, FS_PROXY_SYNC, FS_PROXY_FLUSH and FS_PROXY_CLOSE, whose path
 * is empty, handle:varint, and of the first bytes:lslice; of FS_PROXY_RENAME
 * to:lslice. Answer: id:le64 code:zigzag, then if that is 0 of FS_PROXY_OPEN
 * size:varint, of FS_PROXY_READ the bytes, of FS_PROXY_CREATE handle:varint, of
 * FS_PROXY_STAT directory:u8 size:varint, of FS_PROXY_LIST lslices, of others
 * nothing; else text:lslice hint:lslice. Ops from FS_PROXY_OTHER on are
 * fs_proxy_other's.
 *
 *     INV-1. A limited session touches no file whose path its rules do not
 *            name.
 *     INV-2. Files that a proxy client has open are closed when the rules
 *            of the next one are set.
 */
#ifndef GFS_LITE_FS_PROXY_H
#define GFS_LITE_FS_PROXY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct cursor;
struct fs;
struct fs_proxy_server;
struct fs_proxy_session;
struct trace_context;
struct world;

/* Of file contents in one message. */
#define FS_PROXY_BYTES_MAX ((size_t)64 << 10)
/* Bytes that one proxy client reads through the proxy; for more it opens a file
 * system of its own. */
#define FS_PROXY_READ_BYTES_MAX ((size_t)4 << 20)
#define FS_PROXY_MESSAGE_MAX    (FS_PROXY_BYTES_MAX + 4096)
/* Files that a proxy client writes at a time: more than the outputs of an
 * attempt and their side files. */
#define FS_PROXY_WRITERS_MAX 1024

enum fs_proxy_op {
    FS_PROXY_OPEN = 1, /* Returns the size. */
    FS_PROXY_READ,
    FS_PROXY_PUT, /* Make or empty it, write all of it, sync. */
    FS_PROXY_CREATE,
    FS_PROXY_APPEND,
    FS_PROXY_FLUSH,
    FS_PROXY_SYNC,
    FS_PROXY_CLOSE,
    FS_PROXY_RENAME,
    FS_PROXY_REMOVE,
    FS_PROXY_STAT,
    FS_PROXY_LIST,
    FS_PROXY_SYNC_DIR,
    FS_PROXY_PREFETCH,
    FS_PROXY_OTHER = 64, /* This and greater ones: not about files. */
};

/* --- the proxy server ---------------------------------------------------- */

/* A proxy server of @fs, which is borrowed and must outlive it. Owned. */
struct fs_proxy_server *fs_proxy_server_new(struct fs *fs);
/* PRE: no session exists. NULL is allowed. */
void fs_proxy_server_free(struct fs_proxy_server *l);

/* The files that a proxy client may open. Borrowed until
 * fs_proxy_session_limit() returns, except the file systems. */
struct fs_proxy_rules {
    const char *const *reads; /* Files, by their whole paths. */
    size_t read_count;

    const struct fs_proxy_prefix {
        const char *path; /* Prefix of the paths of files in one directory that
                             may be written, renamed and removed. */
        struct fs
            *fs; /* Where; NULL: the proxy server's. Outlives the session. */
    } * writes;

    size_t write_count;
};

/* Requests that a session answers beside those about files. The functions run
 * on the thread that serves it, one at a time, and may park. */
struct fs_proxy_other {
    /* Answer @op, from FS_PROXY_OTHER on; @in is after its id. At most
     * FS_PROXY_BYTES_MAX are appended to @out. */
    int (*answer)(void *ctx,
                  unsigned op,
                  struct cursor *in,
                  struct buf *out,
                  struct err *err);
    /* An answer was sent: prepare the next. NULL: nothing to do. */
    void (*after)(void *ctx);
    void *ctx;
};

/* A session for the proxy clients on one socket, one after the other. @l is
 * borrowed; @other is copied, NULL: only files. Owned. */
struct fs_proxy_session *
fs_proxy_session_new(struct fs_proxy_server *l,
                     const struct fs_proxy_other *other);
/* PRE: no thread serves it. NULL is allowed. */
void fs_proxy_session_free(struct fs_proxy_session *s);

/* Set the rules of the next proxy client; files that an earlier one has open
 * are closed. Any thread; waits for the answer under way. */
void fs_proxy_session_limit(struct fs_proxy_session *s,
                            const struct fs_proxy_rules *rules);

/* The trace of the next proxy client (copied): answering it is a part of that.
 * Any thread; waits for the answer under way. */
void fs_proxy_session_trace(struct fs_proxy_session *s,
                            const struct trace_context *trace);

/* Answer one message; @answer is cleared. Any thread. Parks. */
void fs_proxy_session_answer(struct fs_proxy_session *s,
                             struct slice message,
                             struct buf *answer);

/* Answer messages from @socket, which stays the caller's, until its other end
 * is closed or it is shut down. Runs on a thread of its own: blocks. */
void fs_proxy_session_serve(struct fs_proxy_session *s, int socket);

/* --- the proxy client ---------------------------------------------------- */

/* Opens the file system itself. *@out is then the proxy client's. */
typedef int (*fs_proxy_open_own)(void *ctx,
                                 struct world *w,
                                 struct fs **out,
                                 struct err *err);

/* The file system at the other end of @socket, which stays the caller's, for
 * one thread. @own NULL: the proxy client cannot open it itself. Owned:
 * fs_close().
 *
 * A file written through it appears with its first sync: one that is closed
 * before that may be missing instead of being empty, and creating it fails no
 * earlier. */
struct fs *
fs_proxy_connect(struct world *w, int socket, fs_proxy_open_own own, void *ctx);

/* Send a request other than about files, @op from FS_PROXY_OTHER on with @body,
 * by @fs, which fs_proxy_connect() gave. The answer is in *@in until the next
 * call. Blocks. Errors: those of the proxy; ERR_CLOSED: it is gone. */
MUST_CHECK int fs_proxy_call(struct fs *fs,
                             unsigned op,
                             struct slice body,
                             struct cursor *in,
                             struct err *err);

#endif /* GFS_LITE_FS_PROXY_H */

/* A file system lent to a process that has no connections: what a short-lived
 * process reads and writes goes through one that has the file system open.
 *
 * The two hold the ends of a pair of sockets (AF_UNIX, SOCK_SEQPACKET). A
 * borrower may have a way to open the file system itself. Then small reads, and
 * the writing of small files, are done by the lender, and all else by the file
 * system that it opens the first time it needs it: large files would only be
 * copied once more. So it does when the lender is gone. A borrower that is not
 * trusted has no such way, and the lender does everything.
 *
 * Borrowers may use the same end one after the other, and may die at any point:
 * an answer to one that is gone is skipped by the next. They may also be
 * hostile. A session that is limited opens, writes, renames and removes what
 * its lent_rules name and nothing else; one that is not does with the lender's
 * rights whatever it is asked for. Nothing else that they send does harm.
 *
 * Message: op:u8 id:le64 path:lslice, then of LENT_READ size:varint
 * offset:varint len:varint; of LENT_PREFETCH offset:varint len:varint; of
 * LENT_PUT mode:varint replication:varint bytes:lslice; of LENT_CREATE
 * mode:varint replication:varint expected:varint exclusive:u8; of LENT_APPEND,
 * LENT_SYNC, LENT_FLUSH and LENT_CLOSE, whose path is empty, handle:varint, and
 * of the first bytes:lslice; of LENT_RENAME to:lslice. Answer: id:le64
 * code:zigzag, then if that is 0 of LENT_OPEN size:varint, of LENT_READ the
 * bytes, of LENT_CREATE handle:varint, of LENT_STAT directory:u8 size:varint,
 * of LENT_LIST lslices, of others nothing; else text:lslice hint:lslice. From
 * LENT_OTHER on ops are lent_other's.
 *
 * Invariants
 *     INV-1. A limited session touches no file whose path its rules do not
 * name. INV-2. What a borrower has open is closed when the rules of the next
 * one are set.
 */
#ifndef GFS_LITE_LENT_H
#define GFS_LITE_LENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct cursor;
struct fs;
struct lender;
struct lent_session;
struct world;

/* Of file contents in one message. */
#define LENT_BYTES_MAX ((size_t)64 << 10)
/* What one borrower reads so; then it is worth a file system of its own. */
#define LENT_READ_BYTES_MAX ((size_t)4 << 20)
#define LENT_MESSAGE_MAX    (LENT_BYTES_MAX + 4096)
/* Files that a borrower writes at a time: more than the outputs of an attempt
 * and their side files. */
#define LENT_WRITERS_MAX 1024

enum lent_op {
    LENT_OPEN = 1, /* How long is it? */
    LENT_READ,
    LENT_PUT, /* Make the file, or empty it, and have it on the disks. */
    LENT_CREATE,
    LENT_APPEND,
    LENT_FLUSH,
    LENT_SYNC,
    LENT_CLOSE,
    LENT_RENAME,
    LENT_REMOVE,
    LENT_STAT,
    LENT_LIST,
    LENT_SYNC_DIR,
    LENT_PREFETCH,
    LENT_OTHER = 64, /* This and those above: not of files. */
};

/* --- the lender ----------------------------------------------------------- */

/* Of @fs, which is borrowed and must outlive it. Owned. */
struct lender *lender_new(struct fs *fs);
/* PRE: nobody serves. NULL is allowed. */
void lender_free(struct lender *l);

/* What a borrower may open. All is borrowed until lent_session_limit() returns,
 * but for the file systems. */
struct lent_rules {
    const char *const *reads; /* Files, by their whole paths. */
    size_t read_count;

    const struct lent_prefix {
        const char *path; /* Files of one directory whose names begin as this
                             says, to be written, renamed and removed. */
        struct fs *fs;    /* Where; NULL: the lender's. Outlives the session. */
    } * writes;

    size_t write_count;
};

/* What a session answers besides questions about files. The functions run on
 * the thread that serves it, one at a time, and may park. */
struct lent_other {
    /* @op, from LENT_OTHER on; @in is behind its id. At most LENT_BYTES_MAX are
     * appended to @out. */
    int (*answer)(void *ctx,
                  unsigned op,
                  struct cursor *in,
                  struct buf *out,
                  struct err *err);
    /* An answer was sent: the time to prepare the next. NULL: nothing is. */
    void (*after)(void *ctx);
    void *ctx;
};

/* Of borrowers on one socket, one after the other. @l is borrowed; @other is
 * copied, NULL: files are all. Owned. */
struct lent_session *lent_session_new(struct lender *l,
                                      const struct lent_other *other);
/* PRE: nobody serves it. NULL is allowed. */
void lent_session_free(struct lent_session *s);

/* From now on the borrower may do what @rules say, and what an earlier one has
 * open is closed. Any thread; waits for the answer under way. */
void lent_session_limit(struct lent_session *s, const struct lent_rules *rules);

/* Answer one message; @answer is cleared. Any thread. Parks. */
void lent_session_answer(struct lent_session *s,
                         struct slice message,
                         struct buf *answer);

/* Answer what comes through @socket, which stays the caller's, until its other
 * end is closed or it is shut down. A thread of its own: blocks. */
void lent_session_serve(struct lent_session *s, int socket);

/* --- the borrower --------------------------------------------------------- */

/* Opens the file system itself. *@out is then the borrower's. */
typedef int (*lent_open_own)(void *ctx,
                             struct world *w,
                             struct fs **out,
                             struct err *err);

/* The file system behind @socket, which stays the caller's, for one thread.
 * @own NULL: the borrower has no other way to it.
 *
 * A file written through it appears with its first sync: one that is closed
 * before that may be missing instead of being empty, and creating it fails no
 * earlier. */
struct fs *
fs_lent_open(struct world *w, int socket, lent_open_own own, void *ctx);

/* Ask @fs, which fs_lent_open() gave, for something else: @op from LENT_OTHER
 * on with @body. The answer is in *@in until the next call. Blocks. Errors:
 * those of the lender; ERR_CLOSED: it is gone. */
MUST_CHECK int fs_lent_ask(struct fs *fs,
                           unsigned op,
                           struct slice body,
                           struct cursor *in,
                           struct err *err);

#endif /* GFS_LITE_LENT_H */

/* A file system lent to a process that has no connections: what a short-lived
 * process reads and writes goes through one that has the file system open.
 *
 * The two hold the ends of a pair of sockets (AF_UNIX, SOCK_SEQPACKET). Small
 * reads, and the writing of small files, are done by the lender; for all else
 * the borrower opens the file system itself, the first time it needs it: large
 * files would only be copied once more. So it does when the lender is gone.
 *
 * Borrowers may use the same end one after the other, and may die at any point:
 * an answer to one that is gone is passed over by the next. They may also be
 * hostile: the lender reads and writes by their paths whatever they ask for,
 * with its own rights, and nothing else that they send does harm.
 *
 * Message: op:u8 id:le64, then of LENT_OPEN path:lslice; of LENT_READ
 * path:lslice size:varint offset:varint len:varint; of LENT_PUT path:lslice
 * mode:varint replication:varint bytes:lslice. Answer: id:le64 code:zigzag,
 * then if that is 0 size:varint, the bytes, or nothing; else text:lslice
 * hint:lslice.
 */
#ifndef GFS_LITE_LENT_H
#define GFS_LITE_LENT_H

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;
struct fs;
struct lender;
struct world;

/* Of file contents in one message. */
#define LENT_BYTES_MAX ((size_t)64 << 10)
/* What one borrower reads so; then it is worth a file system of its own. */
#define LENT_READ_BYTES_MAX ((size_t)4 << 20)
#define LENT_MESSAGE_MAX    (LENT_BYTES_MAX + 2048)

enum lent_op {
    LENT_OPEN = 1, /* How long is it? */
    LENT_READ,
    LENT_PUT, /* Make the file, or empty it, and have it on the disks. */
};

/* --- the lender ----------------------------------------------------------- */

/* Of @fs, which is borrowed and must outlive it. Owned. */
struct lender *lender_new(struct fs *fs);
/* PRE: nobody serves. NULL is allowed. */
void lender_free(struct lender *l);

/* Answer one message; @answer is cleared. Any thread. Parks. */
void lender_answer(struct lender *l, struct slice message, struct buf *answer);

/* Answer what comes through @socket, which stays the caller's, until its other
 * end is closed or it is shut down. A thread of its own: blocks. */
void lender_serve(struct lender *l, int socket);

/* --- the borrower --------------------------------------------------------- */

/* Opens the file system itself. *@out is then the borrower's. */
typedef int (*lent_open_own)(void *ctx,
                             struct world *w,
                             struct fs **out,
                             struct err *err);

/* The file system behind @socket, which stays the caller's, for one thread.
 *
 * A file written through it appears with its first sync: one that is closed
 * before that may be missing instead of being empty, and creating it fails no
 * earlier. */
struct fs *
fs_lent_open(struct world *w, int socket, lent_open_own own, void *ctx);

#endif /* GFS_LITE_LENT_H */

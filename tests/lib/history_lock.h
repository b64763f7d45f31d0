/* Are the answers of a lock service those of some order of the calls?
 *
 * Each file (create, open, read, write, delete, with instances and
 * generations) and each lock (acquire, release, sequencers, and the loss of
 * sessions) is one object of linearizable.h.
 *
 *     struct history_lock *h = history_lock_new();
 *     size_t op = history_lock_call(h, now, session, LOCK_WRITE, "/f",
 *                                   &(struct lock_input){.instance = i,
 *                                                        .contents = 17});
 *     rc = chubby_write(handle, …);
 *     history_lock_return(h, op, now, rc, NULL);
 *     …
 *     if (history_lock_check(h, 0, &why) != HISTORY_LINEARIZABLE) …
 *
 * Contents are numbers: a hash, or the number that was written. A node is told
 * from another of the same name by its instance, which the model learns from
 * the first answer that names it; calls through a handle pass the instance they
 * know, and are to find that node alone.
 *
 * A session that may have ended is one call more, LOCK_EXPIRE of the path of
 * each lock it may hold, begun when its last lease began to run out (when the
 * client died, or at the beginning of the jeopardy from which it did not come
 * back) and never answered. A client that continues has another number.
 *
 * Locks and contents of one path are judged apart; who deletes lock files finds
 * their locks wrong.
 */
#ifndef TESTS_LIB_HISTORY_LOCK_H
#define TESTS_LIB_HISTORY_LOCK_H

#include "base/core/err.h"
#include "base/core/slice.h"
#include "tests/lib/linearizable.h"

struct history_lock;

/* name, of the lock?, does it change anything?, text */
#define HISTORY_LOCK_KINDS(X)                                                  \
    X(OPEN, false, false, "open")                                              \
    X(CREATE, false, true, "create") /* Or open. */                            \
    X(CREATE_NEW, false, true, "create-new")                                   \
    X(READ, false, false, "read")                                              \
    X(STAT, false, false, "stat")                                              \
    X(WRITE, false, true, "write")                                             \
    X(DELETE, false, true, "delete")                                           \
    X(ACQUIRE, true, true, "acquire") /* Exclusive; waits, or tries. */        \
    X(ACQUIRE_SHARED, true, true, "acquire-shared")                            \
    X(RELEASE, true, true, "release")                                          \
    X(SEQUENCER, true, false, "sequencer") /* Of the lock it holds. */         \
    X(CHECK, true, false, "check")         /* A sequencer. */                  \
    X(EXPIRE, true, true, "expire")

enum lock_kind {
#define X(name, of_lock, changes, text) LOCK_##name,
    HISTORY_LOCK_KINDS(X)
#undef X
    LOCK_KIND_COUNT
};

/* A request. */
struct lock_input {
    uint64_t instance;   /* Of the handle's node: READ, STAT, WRITE, DELETE. */
    uint64_t contents;   /* CREATE, CREATE_NEW, WRITE. */
    uint64_t generation; /* WRITE: only if it is the content's, 0: always.
                            CHECK: of the sequencer. */
    bool shared;         /* CHECK: the sequencer's mode. */
};

/* Of a READ that did not ask for it. */
#define LOCK_GENERATION_UNKNOWN UINT64_MAX

/* An answer, besides its code. */
struct lock_answer {
    uint64_t instance;   /* READ, STAT; 0: not known. */
    uint64_t generation; /* READ, STAT: of the contents. SEQUENCER: of the
                            lock. */
    uint64_t contents;   /* READ. */
};

struct history_lock *history_lock_new(void); /* Owned. */
void history_lock_free(struct history_lock *h);
size_t history_lock_count(const struct history_lock *h);

/* A call begins at @now. @session is the caller's, unlike all others that the
 * history has. @input NULL: zeros. Returns its number. */
size_t history_lock_call(struct history_lock *h,
                         uint64_t now,
                         uint64_t session,
                         enum lock_kind kind,
                         const char *path,
                         const struct lock_input *input);
/* It ended with @rc. ERR_NOTFOUND, ERR_EXISTS, ERR_ABORTED, of locks also
 * ERR_BUSY and ERR_INVALID, are answers; ERR_DENIED and ERR_EXHAUSTED say that
 * nothing was done; after any other error it is not known. @answer: after READ,
 * STAT, SEQUENCER, else NULL. */
void history_lock_return(struct history_lock *h,
                         size_t op,
                         uint64_t now,
                         int rc,
                         const struct lock_answer *answer);

/* As history_check(). */
enum history_verdict history_lock_check(const struct history_lock *h,
                                        size_t budget,
                                        struct buf *why);

/* --- as text ------------------------------------------------------------- */

/* Append call @op as one line, tab-separated:
 *     lock CALLED RETURNED|? SESSION KIND PATH INSTANCE CONTENTS GENERATION
 *         s|x CODE|? INSTANCE GENERATION CONTENTS
 * A call that surely did nothing has no line. */
void history_lock_print(const struct history_lock *h,
                        size_t op,
                        struct buf *out);
/* Add the call of such a line (without its newline). ERR_INVALID. */
MUST_CHECK int
history_lock_read(struct history_lock *h, struct slice line, struct err *err);

#endif /* TESTS_LIB_HISTORY_LOCK_H */

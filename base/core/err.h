/* Outcomes: 0 or a negative code, and a message that grows on its way up.
 *
 * A function that can fail returns int and takes `struct err *` last. The leaf
 * that meets the failure calls err_set(), each layer above adds one phrase with
 * err_wrap(), so that the user reads
 *     "open table pages: table 000042.sst: footer: bad magic"
 * once and in order. The text is for people; a program that has to tell one
 * failure from another looks at the code and the detail. Nothing here
 * allocates. A NULL err is allowed everywhere and means that the caller wants
 * the code alone.
 *
 * Expected outcomes (absent, end of file, deleted) are not errors.
 */
#ifndef BASE_CORE_ERR_H
#define BASE_CORE_ERR_H

#include <stdint.h>

#include "base/core/macros.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, text. Values are part of the wire protocol: never renumber. */
#define ERR_CODES(X)                                                           \
    X(IO, -1, "input/output error")                                            \
    X(NOMEM, -2, "out of memory")                                              \
    X(CORRUPT, -3, "corrupt data")                                             \
    X(NOTFOUND, -4, "not found")                                               \
    X(EXISTS, -5, "exists already")                                            \
    X(INVALID, -6, "invalid argument")                                         \
    X(BUSY, -7, "in use")                                                      \
    X(FULL, -8, "no space left")                                               \
    X(TOOBIG, -9, "too big")                                                   \
    X(CANCELLED, -10, "cancelled")                                             \
    X(DEADLINE, -11, "deadline exceeded")                                      \
    X(DENIED, -12, "permission denied")                                        \
    X(UNSUPPORTED, -13, "unsupported")                                         \
    X(EXHAUSTED, -14, "resource exhausted")                                    \
    X(UNAVAILABLE, -15, "unavailable")                                         \
    X(CLOSED, -16, "closed")                                                   \
    X(ABORTED, -17, "aborted")                                                 \
    /* The change may or may not be there after the next open. */              \
    X(UNKNOWN_OUTCOME, -18, "outcome unknown")                                 \
    /* Another transaction was faster: begin again. */                         \
    X(CONFLICT, -19, "conflict")                                               \
    /* A transaction is older than what the table keeps: begin again. */       \
    X(TOO_OLD, -20, "too old")

enum err_code {
    ERR_OK = 0,
#define X(name, value, text) ERR_##name = (value),
    ERR_CODES(X)
#undef X
};

#define ERR_TEXT_BYTES 768
#define ERR_HINT_BYTES 240

/* Longest subject, its NUL included. */
#define ERR_SUBJECT_BYTES 256

/* The part of a failure that a program acts on and the code does not tell;
 * programs never parse the text. Values travel beside the codes: never
 * renumber. */
enum err_detail {
    ERR_DETAIL_NONE = 0,
    /* ERR_UNAVAILABLE: the host answers, but nothing listens at the port. */
    ERR_DETAIL_REFUSED = 1,
    /* ERR_UNAVAILABLE: another member leads; the subject is its address, or
     * "" while it is unknown. */
    ERR_DETAIL_NOT_LEADER = 2,
    /* ERR_NOTFOUND: another server has the tablet; METADATA says which. */
    ERR_DETAIL_ELSEWHERE = 3,
    /* ERR_EXHAUSTED: over a rate; the caller may retry after retry_us. */
    ERR_DETAIL_RATE = 4,
    /* ERR_ABORTED: a program that writes cannot run beside the rows. */
    ERR_DETAIL_PROGRAM_WRITES = 5,
    /* ERR_NOTFOUND: there is no table of that name. */
    ERR_DETAIL_NO_TABLE = 6,
    /* ERR_NOTFOUND: no file is at the subject, the path of an input. */
    ERR_DETAIL_NO_INPUT = 7,
    /* ERR_CORRUPT: a block of an SSTable; others can be read. */
    ERR_DETAIL_TABLE_FILE = 8,
    /* ERR_DENIED: the listener is not a server of Quarry. */
    ERR_DETAIL_OTHER_PROTOCOL = 9,
    /* ERR_UNAVAILABLE: the server hung up before both sides were
     * authenticated, as it does when their keys differ. */
    ERR_DETAIL_HUNG_UP = 10,
    /* A program failed; the subject is where: SOURCE:LINE:COLUMN. */
    ERR_DETAIL_PLACE = 11,
    /* ERR_NOTFOUND: others run the cluster's lock service; the subject says
     * where (lock_service.h). */
    ERR_DETAIL_LOCK_SERVICE = 12,
    ERR_DETAIL_COUNT
};

/* Longest delay that an error may ask a caller for. */
#define ERR_RETRY_US_MAX UINT64_C(60000000)

struct err {
    int code;               /* 0 or ERR_*. */
    enum err_detail detail; /* err_set() makes it ERR_DETAIL_NONE. */
    uint64_t retry_us;      /* See the details; else 0. */
    char subject[ERR_SUBJECT_BYTES];
    char text[ERR_TEXT_BYTES]; /* The failure and its cause; cut at the end
                                  when long. */
    char hint[ERR_HINT_BYTES]; /* The advice to the user, or "". */
};

#ifdef __cplusplus
#define ERR_INIT                                                               \
    {                                                                          \
    }
#else
#define ERR_INIT ((struct err){.code = 0})
#endif

/* No error yet, without clearing all of its memory. */
static inline void err_init(struct err *e)
{
    e->code = 0;
    e->detail = ERR_DETAIL_NONE;
    e->retry_us = 0;
    e->subject[0] = '\0';
    e->text[0] = '\0';
    e->hint[0] = '\0';
}

/* Fill @e (NULL allowed) at the leaf. Returns @code, so that
 * `return err_set(err, ERR_CORRUPT, "bad magic");` is the usual line. */
QUARRY_EXPORT int err_set(struct err *e, int code, const char *fmt, ...)
    QUARRY_SYMBOL(err_set) PRINTF_LIKE(3, 4);

/* As err_set, from an errno value: "<fmt>: <strerror>". ENOSPC, EDQUOT, EMFILE
 * and ENFILE give ERR_FULL (no space on the disk, no descriptor left: both
 * pass), ENOENT ERR_NOTFOUND, EEXIST ERR_EXISTS, EACCES and EPERM ERR_DENIED,
 * ENOMEM ERR_NOMEM, anything else ERR_IO. Returns the code. */
QUARRY_EXPORT int err_set_errno(struct err *e, int errnum, const char *fmt, ...)
    QUARRY_SYMBOL(err_set_errno) PRINTF_LIKE(3, 4);

/* Put "<fmt>: " before the text of @e. Returns nothing on purpose: the code to
 * return is the one the failed call gave, also where @e is NULL. */
QUARRY_EXPORT void err_wrap(struct err *e, const char *fmt, ...)
    QUARRY_SYMBOL(err_wrap) PRINTF_LIKE(2, 3);

/* Say what the user can do, printed in parentheses after the text. The first
 * hint, which is the nearest to the cause, stays. */
QUARRY_EXPORT void err_hint(struct err *e, const char *fmt, ...)
    QUARRY_SYMBOL(err_hint) PRINTF_LIKE(2, 3);

/* Add to err_set() what programs act on. @e may be NULL; @subject is copied,
 * and left empty when it is too long. */
QUARRY_EXPORT void
err_set_detail(struct err *e, enum err_detail detail, const char *subject)
    QUARRY_SYMBOL(err_set_detail);
/* ERR_DETAIL_RATE: the caller may repeat its request after @retry_us. */
QUARRY_EXPORT void err_set_retry(struct err *e, uint64_t retry_us)
    QUARRY_SYMBOL(err_set_retry);

/* "not found" for ERR_NOTFOUND, and so on; never NULL. */
QUARRY_EXPORT const char *err_name(int code) QUARRY_SYMBOL(err_name);

/* Copy @from into @to (both may be NULL). Returns from's code. */
QUARRY_EXPORT int err_copy(struct err *to, const struct err *from)
    QUARRY_SYMBOL(err_copy);

#ifdef __cplusplus
}
#endif

#endif /* BASE_CORE_ERR_H */

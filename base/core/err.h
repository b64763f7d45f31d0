/* Outcomes: 0 or a negative code, and a message that grows on its way up.
 *
 * A function that can fail returns int and takes `struct err *` last. The leaf
 * that meets the failure calls err_set(), each layer above adds one phrase with
 * err_wrap(), so that the user reads
 *     "open table pages: table 000042.sst: footer: bad magic"
 * once and in order. Nothing here allocates. A NULL err is allowed everywhere
 * and means that the caller wants the code alone.
 *
 * Expected outcomes (absent, end of file, deleted) are not errors.
 */
#ifndef BASE_CORE_ERR_H
#define BASE_CORE_ERR_H

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
    /* It may or may not be there after the next open. */                      \
    X(UNKNOWN_OUTCOME, -18, "outcome unknown")

enum err_code {
    ERR_OK = 0,
#define X(name, value, text) ERR_##name = (value),
    ERR_CODES(X)
#undef X
};

#define ERR_TEXT_BYTES 768
#define ERR_HINT_BYTES 240

/* What a code alone does not say, for who must act on it. */
enum err_detail {
    ERR_DETAIL_NONE,
    /* With ERR_UNAVAILABLE: the host answers, and nobody listens there. */
    ERR_DETAIL_REFUSED,
};

struct err {
    int code;                  /* 0 or ERR_*. */
    enum err_detail detail;    /* err_set() makes it ERR_DETAIL_NONE. */
    char text[ERR_TEXT_BYTES]; /* What and why; cut at the end when long. */
    char hint[ERR_HINT_BYTES]; /* What to do about it, or "". */
};

#ifdef __cplusplus
#define ERR_INIT                                                               \
    {                                                                          \
    }
#else
#define ERR_INIT ((struct err){.code = 0})
#endif

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

/* Say what the user can do: printed in parentheses behind the text. The first
 * hint, the one nearest to the cause, stays. */
QUARRY_EXPORT void err_hint(struct err *e, const char *fmt, ...)
    QUARRY_SYMBOL(err_hint) PRINTF_LIKE(2, 3);

/* "not found" for ERR_NOTFOUND, and so on; never NULL. */
QUARRY_EXPORT const char *err_name(int code) QUARRY_SYMBOL(err_name);

/* Copy @from into @to (both may be NULL). Returns from's code. */
QUARRY_EXPORT int err_copy(struct err *to, const struct err *from)
    QUARRY_SYMBOL(err_copy);

#ifdef __cplusplus
}
#endif

#endif /* BASE_CORE_ERR_H */

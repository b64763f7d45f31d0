/* Patterns met while a program runs: compiled once and kept, in bounds.
 *
 * A constant pattern is compiled with the program and is not in this cache. A
 * pattern that a program computes is looked up by its text in a cache of the
 * run, which keeps REGEX_COUNT_MAX of them; when it is full, the least
 * recently used of the few places the new one may take is replaced.
 */
#ifndef SAWZALL_LITE_BUILTINS_REGEXES_H
#define SAWZALL_LITE_BUILTINS_REGEXES_H

#include "base/regex/regex.h"
#include "sawzall-lite/values/value.h"

/* Compile @pattern, which may have possessive quantifiers where RE2 can do
 * without them. On success *@out is owned. ERR_INVALID with the reason. */
MUST_CHECK int
saw_regex_compile(struct slice pattern, struct regex **out, struct err *err);

/* The compiled @pattern, borrowed until the next call with @first, so that one
 * intrinsic can hold several; NULL when it is bad: return SAW_UNDEF then, the
 * reason is in ctx->err. */
const struct regex *
saw_regex_get(struct saw_ctx *ctx, const struct saw_str *pattern, bool first);

/* Find the leftmost match of @r in @text, as regex_search() does, within the
 * work that is left to the record. REGEX_TOO_DEAR: the error is set, return
 * SAW_FAIL. */
enum regex_outcome saw_search(struct saw_ctx *ctx,
                              const struct regex *r,
                              struct slice text,
                              struct slice *groups,
                              size_t count);

#endif /* SAWZALL_LITE_BUILTINS_REGEXES_H */

/* saw, sawn, sawzall: cut a string into pieces by patterns.
 *
 * The compiler parses skip, rest and submatch. Patterns between two `rest` make
 * one group, which is one call of saw_saw(); `rest x` stores what *text has
 * become.
 */
#ifndef SAWZALL_LITE_BUILTINS_SAW_H
#define SAWZALL_LITE_BUILTINS_SAW_H

#include "sawzall-lite/values/value.h"

enum saw_saw_flag {
    SAW_SAW_PLAIN,    /* The match is a piece. */
    SAW_SAW_SKIP,     /* The match is dropped. */
    SAW_SAW_SUBMATCH, /* The groups are pieces; the match if it has none. */
};

/* Apply the patterns in turn, up to @count times over, each where the match
 * before ended, until one does not match. Pieces are appended to *@result,
 * which is made when NULL. *@text becomes the rest. Errors: SAW_UNDEF a pattern
 * is bad; SAW_FAIL the memory limit. */
enum saw_status saw_saw(struct saw_ctx *ctx,
                        const struct saw_str **text,
                        int64_t count,
                        const struct saw_str *const *patterns,
                        const uint8_t *flags,
                        size_t pattern_count,
                        struct saw_array **result);

#endif /* SAWZALL_LITE_BUILTINS_SAW_H */

/* A line of the shell cut into words, with quotes. */
#ifndef CLI_WORD_SPLIT_H
#define CLI_WORD_SPLIT_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct word_list {
    const char **words; /* Owned array of owned, NUL-terminated words. */
    size_t count;
};

/* Blanks part words; '…' and "…" keep them together; a backslash takes the
 * meaning from a blank or a quote and is itself before anything else, so that
 * \x00 needs no quotes. From a # at the start of a word on, it is a comment.
 * Errors: ERR_INVALID, a quote without its end. On success words_free(). */
MUST_CHECK int
words_split(struct slice line, struct word_list *out, struct err *err);
void words_free(struct word_list *list);

#endif /* CLI_WORD_SPLIT_H */

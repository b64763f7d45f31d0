/* "key=value,key=value" as users write it: cut into pairs. */
#ifndef BIGTABLE_ROW_OPTION_TEXT_H
#define BIGTABLE_ROW_OPTION_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct option_text {
    struct slice rest; /* Not read yet. */
};

struct option_pair {
    struct slice key;
    struct slice value;
};

static inline struct option_text option_text_make(const char *text)
{
    return (struct option_text){slice_str(text ? text : "")};
}

/* The next pair; *@more is false when there is none left. Empty pieces are
 * skipped. Errors: ERR_INVALID, a piece without '='. */
MUST_CHECK int option_text_next(struct option_text *t,
                                struct option_pair *pair,
                                bool *more,
                                struct err *err);

/* Values. Errors: ERR_INVALID "block=x: it must be ..." */
MUST_CHECK int option_bytes(const struct option_pair *p,
                            uint64_t min,
                            uint64_t max,
                            uint64_t *out,
                            struct err *err);
MUST_CHECK int option_integer(const struct option_pair *p,
                              int64_t min,
                              int64_t max,
                              int64_t *out,
                              struct err *err);
/* The index of the value in @names (NULL-terminated). */
MUST_CHECK int option_choice(const struct option_pair *p,
                             const char *const *names,
                             size_t *out,
                             struct err *err);

#endif /* BIGTABLE_ROW_OPTION_TEXT_H */

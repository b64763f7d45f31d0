/* Taking headers apart. */
#ifndef CLI_CONSOLE_CONSOLE_TEXT_H
#define CLI_CONSOLE_CONSOLE_TEXT_H

#include <stdbool.h>

#include "base/core/slice.h"

/* Cut what is before the first @c off @rest, and @c with it; all of it, when
 * there is none. */
static inline struct slice console_cut(struct slice *rest, char c)
{
    size_t at = slice_find_byte(*rest, c);
    struct slice part = *rest;
    if (at >= rest->len) {
        *rest = SLICE_EMPTY;
        return part;
    }
    part.len = at;
    *rest = slice_sub(*rest, at + 1, rest->len);
    return part;
}

#endif /* CLI_CONSOLE_CONSOLE_TEXT_H */

/* Taking status texts apart: for the console's pages. */
#ifndef CLI_CONSOLE_TEXT_H
#define CLI_CONSOLE_TEXT_H

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

/* Cut the next "key=value" off @line; a value in quotes may have spaces, and is
 * given without them. False at the end. */
static inline bool
console_figure(struct slice *line, struct slice *key, struct slice *value)
{
    *line = slice_trim(*line);
    if (line->len == 0)
        return false;
    *key = slice_make(line->data, 0);
    while (key->len < line->len && line->data[key->len] != '=' &&
           line->data[key->len] != ' ')
        key->len++;
    *value = SLICE_EMPTY;
    if (key->len == line->len || line->data[key->len] == ' ') {
        *line = slice_sub(*line, key->len, line->len);
        return true;
    }
    *line = slice_sub(*line, key->len + 1, line->len);
    if (line->len && line->data[0] == '"') {
        *line = slice_sub(*line, 1, line->len);
        *value = console_cut(line, '"');
    } else {
        *value = console_cut(line, ' ');
    }
    return true;
}

#endif /* CLI_CONSOLE_TEXT_H */

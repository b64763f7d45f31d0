/* The difference of two texts by lines: a longest common subsequence, beside
 * each other as people compare versions. Pure. */
#ifndef WEB_REPLAY_TEXT_DIFFERENCE_H
#define WEB_REPLAY_TEXT_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

/* Lines of a text that are compared; the rest is left out. */
#define DIFFERENCE_LINES_MAX ((size_t)50000)

struct difference_row {
    bool is_same;
    struct slice left; /* Borrowed from the texts. */
    struct slice right;
    bool has_left;
    bool has_right;
};

struct difference {
    struct difference_row *at; /* Owned array. */
    size_t count;
    size_t cap;
    size_t removed; /* Lines of the left text alone, */
    size_t added;   /* and of the right one. */
    bool is_coarse; /* The middle was too long to be compared line by line. */
};

/* Compare two texts. difference_close(). */
void difference_make(struct slice left,
                     struct slice right,
                     struct difference *out);
void difference_close(struct difference *d);

#endif /* WEB_REPLAY_TEXT_DIFFERENCE_H */

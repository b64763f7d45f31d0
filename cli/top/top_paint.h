/* The model of `quarry top` as lines of text, for a screen of any size or for
 * a pipe.
 *
 * Threads: one.
 */
#ifndef CLI_TOP_TOP_PAINT_H
#define CLI_TOP_TOP_PAINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"

struct top_model;

enum top_style {
    TOP_STYLE_PLAIN,
    TOP_STYLE_WELL,
    TOP_STYLE_WARNING,
    TOP_STYLE_FAILING,
    TOP_STYLE_HEADER,
    TOP_STYLE_KEYS
};

struct top_line {
    size_t begin; /* [begin, end) of the text. */
    size_t end;
    enum top_style style;
    bool is_chosen;
};

/* Lines, each at most as wide as the screen. */
struct top_picture {
    struct buf text;
    struct top_line *lines; /* Owned. */
    size_t count;
    size_t cap;
};

void top_picture_init(struct top_picture *p);
void top_picture_close(struct top_picture *p);
struct slice top_picture_line(const struct top_picture *p, size_t index);

/* Paint exactly @height lines, none wider than @width; the model learns how
 * many rows there is room for. */
void top_paint(struct top_model *m,
               size_t width,
               size_t height,
               uint64_t now_us,
               struct top_picture *out);
/* Paint all rows, whole and without keys, for `--once`. */
void top_paint_once(struct top_model *m,
                    uint64_t now_us,
                    struct top_picture *out);

#endif /* CLI_TOP_TOP_PAINT_H */

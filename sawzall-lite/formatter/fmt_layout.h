/* The layout of a program whose tokens are known; see fmt.c. */
#ifndef SAWZALL_LITE_FORMATTER_FMT_LAYOUT_H
#define SAWZALL_LITE_FORMATTER_FMT_LAYOUT_H

#include "sawzall-lite/front/lexer.h"
#include "sawzall-lite/front/parser.h"

/* The gap between two tokens, piece by piece. */
enum saw_gap_kind {
    GAP_END,
    GAP_COMMENT,
    GAP_INCLUDE,
};

struct saw_gap {
    struct slice text;
    size_t at;
};

struct saw_gap_piece {
    enum saw_gap_kind kind;
    unsigned newlines; /* Before it. */
    struct slice text; /* Without white space at its end. */
};

/* The next piece. GAP_END is the token after the gap. */
struct saw_gap_piece saw_gap_next(struct saw_gap *g);

/* Append @tokens, which parsed without error, laid out. */
void saw_layout(struct slice source,
                const struct saw_tokens *tokens,
                const struct saw_token_marks *marks,
                struct buf *out);

#endif /* SAWZALL_LITE_FORMATTER_FMT_LAYOUT_H */

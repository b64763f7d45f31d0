/* Lines typed at a terminal, with history, completion and Ctrl-C: libedit, for
 * the shells of the command line.
 *
 * Threads: one. Watches Ctrl-C (interrupt.h) while it reads.
 */
#ifndef CLI_LINE_EDITOR_H
#define CLI_LINE_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/slice.h"

struct buf;
struct completion;
struct line_editor;

struct line_editor_ops {
    const char *history_file; /* Below the home directory. */
    /* The text before the line. */
    const char *(*prompt)(void *ctx);
    /* As completion_find(): the line up to the cursor. */
    bool (*complete)(void *ctx,
                     struct slice before,
                     struct completion **offers,
                     struct buf *insert);
    void *ctx;
};

enum line_outcome {
    LINE_TYPED,
    LINE_INTERRUPTED, /* Ctrl-C; what was typed is dropped. */
    LINE_END,         /* Ctrl-D on an empty line, or the terminal is gone. */
};

/* Begin; @ops is copied. NULL: this is no terminal that libedit knows. Owned.
 */
struct line_editor *line_editor_open(const struct line_editor_ops *ops);
/* Save the history and end. NULL is allowed. */
void line_editor_close(struct line_editor *e);

/* Read a line, with its end; *@line is borrowed until the next call. */
enum line_outcome line_editor_read(struct line_editor *e, struct slice *line);
/* Add @text to the history, unless it is blank. */
void line_editor_remember(struct line_editor *e, const char *text);

#endif /* CLI_LINE_EDITOR_H */

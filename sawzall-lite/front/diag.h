/* Messages of the compiler: file:line:column, the error, the line and a caret.
 *
 *     hosts.szl:3:9: error: lenght undeclared; did you mean 'len'?
 *         n := lenght(line);
 *              ^~~~~~
 *
 * One error is printed for a line of source, because the second is mostly a
 * consequence of the first; after errors_max errors the rest is only counted.
 */
#ifndef SAWZALL_LITE_FRONT_DIAG_H
#define SAWZALL_LITE_FRONT_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

#define SAW_ERRORS_DEFAULT 200U

/* One text: the program or a file it includes. Lives with the program. */
struct saw_source {
    const char *name;
    struct slice text;
    uint32_t *line_starts; /* Offsets; line_count of them. */
    uint32_t line_count;
    uint32_t last_error_line; /* 0: none yet. */
};

/* A stretch of source: [begin, end). */
struct saw_pos {
    struct saw_source *source; /* NULL: predeclared. */
    uint32_t begin;
    uint32_t end;
};

struct saw_diag {
    struct buf *out;
    unsigned errors_max; /* Printed at most. */
    unsigned error_count;
    unsigned warning_count;
};

/* Line and column, 1-based; 0 where @pos has no source. */
uint32_t saw_pos_line(struct saw_pos pos);
uint32_t saw_pos_column(struct saw_pos pos);

/* Append the source text of @pos; with @semicolon up to and with the ';' that
 * follows. */
void saw_pos_print(struct saw_pos pos, bool semicolon, struct buf *out);

/* From the beginning of @a to the end of @b. */
struct saw_pos saw_pos_join(struct saw_pos a, struct saw_pos b);

void saw_error(struct saw_diag *d, struct saw_pos pos, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
void saw_warning(struct saw_diag *d, struct saw_pos pos, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* A remark that belongs to the error before it, if that was printed. */
void saw_note(struct saw_diag *d, struct saw_pos pos, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

#endif /* SAWZALL_LITE_FRONT_DIAG_H */

/* Text that a run over a segment wrote, held back until its turn.
 *
 * Threads: one at a time.
 */
#ifndef MAPREDUCE_LINES_LINE_OUTPUT_H
#define MAPREDUCE_LINES_LINE_OUTPUT_H

#include <stdbool.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct saw_run_options;

/* Append @text, written to the file @path, or to the command if @is_pipe. */
void line_output_put(struct buf *b,
                     const char *path,
                     bool is_pipe,
                     struct slice text);

/* Write all of it by the hooks of @o, in the order of the puts, and clear @b.
 * Errors: those of the hooks; what is behind is dropped. */
MUST_CHECK int line_output_write(struct buf *b,
                                 const struct saw_run_options *o,
                                 struct err *err);

#endif /* MAPREDUCE_LINES_LINE_OUTPUT_H */

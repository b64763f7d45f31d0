/* Rows as lines of JSON for a program, and its answers as changes.
 *
 *     {"row": "a", "changed": ["f:q"], "cells": {"f:q": "value", …}}
 *     [{"table": "t", "row": "b", "set": {"f:q": "value"}, "delete": ["g:"]}]
 *
 * Bytes that are not UTF-8 are {"base64": "…"} as values, "row_base64" as keys;
 * in the names of columns they are escaped, as on the command line.
 *
 * Threads: any. Pure, but for quarry_observer_write().
 */
#ifndef MAPREDUCE_OBSERVE_ROW_LINES_H
#define MAPREDUCE_OBSERVE_ROW_LINES_H

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_observation;

/* Append the line of @o, with its end. */
void row_line_put(const struct quarry_observation *o, struct buf *out);
/* Write what the answer @line says. @output is the table of changes that name
 * none; NULL: there is none. ERR_INVALID says where the line is wrong;
 * ERR_ABORTED: it says that the row has failed; those of
 * quarry_observer_write(). */
MUST_CHECK int row_line_take(struct quarry_observation *o,
                             struct slice line,
                             const char *output,
                             struct err *err);

#endif /* MAPREDUCE_OBSERVE_ROW_LINES_H */

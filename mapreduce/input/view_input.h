/* Materialized views as input: their rows, in the form of a table's. They are
 * read by one task, as of one moment.
 *
 * One thread; everything parks.
 */
#ifndef MAPREDUCE_INPUT_VIEW_INPUT_H
#define MAPREDUCE_INPUT_VIEW_INPUT_H

#include "mapreduce/input/input.h"

/* As input_format.plan and open, for SPECs whose `view` is set. */
MUST_CHECK int view_input_plan(const struct input_context *ctx,
                               unsigned input,
                               struct input_splits *splits,
                               struct err *err);
MUST_CHECK int view_input_open(const struct input_context *ctx,
                               const struct input_split *split,
                               struct input_reader **out,
                               struct err *err);

#endif /* MAPREDUCE_INPUT_VIEW_INPUT_H */

/* Rows of a split as the worker relays them (row_relay.h): the reader in an
 * attempt that has no connections.
 *
 * One thread; everything parks.
 */
#ifndef MAPREDUCE_ATTEMPT_RELAYED_ROWS_H
#define MAPREDUCE_ATTEMPT_RELAYED_ROWS_H

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct input_reader;
struct input_split;
struct task_spec;

/* Borrowed. */
struct relayed_source {
    struct fs *fs; /* A proxy: its proxy server has a relay. */
    const struct task_spec *spec;
};

/* input_context.open_rows; @ctx is a relayed_source. @split is one of its
 * spec's. One reader at a time. Parks. */
MUST_CHECK int relayed_rows_open(void *ctx,
                                 const struct input_split *split,
                                 struct input_reader **out,
                                 struct err *err);

#endif /* MAPREDUCE_ATTEMPT_RELAYED_ROWS_H */

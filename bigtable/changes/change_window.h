/* Changes that were flushed: a window of sequence numbers, row by row. */
#ifndef BIGTABLE_CHANGES_CHANGE_WINDOW_H
#define BIGTABLE_CHANGES_CHANGE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct change_emitter;
struct change_position;
struct change_sources;

/* Choose the window behind at->low, if there is none yet: to the nearest end of
 * a flush, at most @limit. */
void change_window_choose(const struct change_sources *s,
                          uint64_t limit,
                          struct change_position *at);

/* Read of the window until the batch is full; *@done: it was read to its end,
 * and @at is behind it. PRE: at->high is not 0. Parks. */
MUST_CHECK int change_window_read(struct change_sources *s,
                                  struct change_emitter *e,
                                  struct change_position *at,
                                  bool *done,
                                  struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_WINDOW_H */

/* Changes that are all in memtables, in the order of their numbers. */
#ifndef BIGTABLE_CHANGES_CHANGE_MEMORY_H
#define BIGTABLE_CHANGES_CHANGE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct change_emitter;
struct change_position;
struct change_sources;
struct tablet_snapshot;

/* Are all entries above @low in memtables of @s? PRE: @low is not below the
 * floor. */
bool change_memory_has(const struct change_sources *s, uint64_t low);

/* Read from at->low on, up to @limit, until the batch is full. *@us becomes the
 * time of the last commit that was passed, if there is one. PRE:
 * change_memory_has(), at->high is 0. */
MUST_CHECK int change_memory_read(const struct tablet_snapshot *s,
                                  uint64_t limit,
                                  struct change_emitter *e,
                                  struct change_position *at,
                                  int64_t *us,
                                  struct err *err);

#endif /* BIGTABLE_CHANGES_CHANGE_MEMORY_H */

/* Marks of commits: when they were made, and where they begin.
 *
 *     marks = { sequence - the one before: varint, µs - those before: varint }
 *
 * A mark stands for a commit's first entry, by its sequence number: the commit
 * and those behind it up to the next mark were made at its time. Commits have a
 * mark of their own where time has moved, and where a commit is to the same row
 * as the one before it: elsewhere the row tells them apart.
 *
 * Threads: the owner's.
 *
 * Invariants
 *     INV-1  Sequences strictly ascend; times do not descend.
 */
#ifndef BIGTABLE_LSM_CHANGE_MARKS_H
#define BIGTABLE_LSM_CHANGE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct buf;

struct change_mark {
    uint64_t sequence;
    int64_t us;
};

struct change_marks {
    struct change_mark *list; /* Owned. */
    size_t count;
    size_t cap;
};

/* All zero is empty. */
void change_marks_close(struct change_marks *m);
/* PRE: as INV-1 says. */
void change_marks_add(struct change_marks *m, struct change_mark mark);
/* The last mark at or before @sequence; NULL: there is none. Borrowed. */
const struct change_mark *change_marks_find(const struct change_marks *m,
                                            uint64_t sequence);
void change_marks_encode(const struct change_marks *m, struct buf *out);
/* Fill @out, which is empty. ERR_CORRUPT. */
MUST_CHECK int change_marks_decode(struct slice bytes,
                                   struct change_marks *out,
                                   struct err *err);

#endif /* BIGTABLE_LSM_CHANGE_MARKS_H */

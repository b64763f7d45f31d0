/* Many sorted sources as one: a heap of their current keys.
 *
 * Sources are given newest first; of equal keys the newest source's entry comes
 * first. With one source nothing is compared.
 *
 * Threads: one.
 */
#ifndef BIGTABLE_LSM_MERGE_H
#define BIGTABLE_LSM_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* A sorted sequence. seek and next set key, value, stays and valid; they may
 * park. */
struct merge_source {
    struct slice key; /* Borrowed until the source moves. */
    struct slice value;
    bool stays; /* next() leaves this value, and those before it that stayed,
                   where they are: the next entry lies in the same block. */
    bool valid;
    size_t age; /* Set by merge_init(): 0 is the newest. */
    int (*seek)(struct merge_source *s, struct slice target, struct err *err);
    int (*next)(struct merge_source *s, struct err *err);
};

struct merge {
    struct merge_source **sources; /* All; borrowed memory of the caller. */
    size_t source_count;
    struct merge_source **heap; /* The valid ones, as a heap. */
    size_t heap_count;          /* INV-1: at most source_count. */
};

/* @heap has room for @count pointers; both arrays belong to the caller and
 * outlive @m. */
void merge_init(struct merge *m,
                struct merge_source **sources,
                struct merge_source **heap,
                size_t count);

/* Move every source to its first entry at or after @target. Parks. After an
 * error the merge is at its end. */
MUST_CHECK int
merge_seek(struct merge *m, struct slice target, struct err *err);
/* Go to the next entry. PRE: merge_top() is not NULL. Parks. After an error the
 * merge is at its end. */
MUST_CHECK int merge_next(struct merge *m, struct err *err);

/* The source with the smallest key, or NULL at the end. */
static inline struct merge_source *merge_top(const struct merge *m)
{
    return m->heap_count ? m->heap[0] : NULL;
}

#endif /* BIGTABLE_LSM_MERGE_H */

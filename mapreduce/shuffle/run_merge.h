/* Merging sorted runs into one: a loser tree over any number of sources.
 *
 * Equal keys come in the order of their sources, and from one source in its own
 * order, so that a merge of runs in order of time is stable.
 *
 * Invariant INV-1: the winner, tree[0], is a source of the merge or has ended
 * (run_merge.c).
 *
 * One thread; whether next() parks depends on the sources.
 */
#ifndef MAPREDUCE_SHUFFLE_RUN_MERGE_H
#define MAPREDUCE_SHUFFLE_RUN_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

/* A sorted run. next() puts the next pair into key and value, which stay valid
 * until it is called again, or clears *more. close() may be NULL. */
struct merge_source {
    int (*next)(struct merge_source *s, bool *more, struct err *err);
    void (*close)(struct merge_source *s);
    struct slice key;
    struct slice value;
};

struct merge_node {
    uint64_t prefix; /* Of the source's key; complemented when descending. */
    uint32_t source;
    bool ended;
};

struct run_merge {
    struct merge_source *
        *sources; /* The array is owned, the sources are borrowed. */
    size_t count;
    size_t leaves;           /* count rounded up to a power of two. */
    struct merge_node *tree; /* [1, leaves) losers; [0] is the winner. */
    bool descending;
    bool started;
};

/* Merge @sources, which are copied and must outlive the merge. The first
 * run_merge_next() reads each once. */
void run_merge_init(struct run_merge *m,
                    struct merge_source *const *sources,
                    size_t count,
                    bool descending);
void run_merge_close(struct run_merge *m); /* Does not close the sources. */

/* Advance to the next pair: that of run_merge_current(), borrowed until the
 * next call. *@more false at the end. Errors: those of the sources. */
MUST_CHECK int run_merge_next(struct run_merge *m, bool *more, struct err *err);

static inline const struct merge_source *
run_merge_current(const struct run_merge *m)
{
    return m->sources[m->tree[0].source]; /* INV-1 */
}

#endif /* MAPREDUCE_SHUFFLE_RUN_MERGE_H */

/* The spans of one trace, gathered from several processes, as a tree.
 *
 * Clocks of machines differ, and a child that begins before its parent makes no
 * sense to a reader. A span of another process lies within its parent's, which
 * bounds by how much the clocks differ; each process's spans are shifted by the
 * least amount that all such bounds allow.
 *
 * Pure. Threads: none of its own.
 */
#ifndef BASE_TRACE_SPAN_TREE_H
#define BASE_TRACE_SPAN_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PRE of span_tree_sort(): the first five fields. */
struct tree_span {
    uint64_t id;
    uint64_t parent; /* 0: it is a root. */
    int64_t start_us;
    int64_t duration_us;
    unsigned process; /* A number for each, from 0 on. */
    /* Set: */
    unsigned depth;   /* 0: its parent is not among them. */
    int64_t shift_us; /* To be added to start_us. */
    size_t at;        /* Where it was in the array. */
};

/* Sort @spans so that children follow their parents, by the time they began.
 * Of spans with the same id the first one counts as parent; circles, which only
 * hostile processes make, are cut. PRE: @process_count is above all processes,
 * at most 512; times are at most SPAN_TIME_US_MAX (span_record.h). */
void span_tree_sort(struct tree_span *spans,
                    size_t count,
                    unsigned process_count);

#endif /* BASE_TRACE_SPAN_TREE_H */

/* A change of a table as readers of changes get it: one commit to one row,
 * whole. Part of the public C library: quarry.h includes it.
 */
#ifndef BIGTABLE_ROW_CHANGE_H
#define BIGTABLE_ROW_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"

enum quarry_change_kind {
    QUARRY_CHANGE_SET = 1, /* A cell: increments and appends by their result. */
    QUARRY_CHANGE_DELETE_CELLS = 2,
    QUARRY_CHANGE_DELETE_FAMILY = 3,
    QUARRY_CHANGE_DELETE_ROW = 4,
    QUARRY_CHANGE_ADD = 5,   /* An input that was added to an aggregate, */
    QUARRY_CHANGE_MERGE = 6, /* or a state that was merged into it. */
};

struct quarry_change_entry {
    enum quarry_change_kind kind;
    struct slice family;
    struct slice qualifier;
    int64_t timestamp_us; /* Of the cell; DELETE_CELLS: the lower bound, */
    int64_t max_us;       /* and the one behind; both 0: cells of any time. */
    struct slice value;
};

/* Where and when a commit was first made, if it came from another table by
 * replication (quarry_replication.h). */
struct quarry_origin {
    uint64_t site;     /* That table; 0: this one. */
    int64_t us;        /* Its commit_us there, */
    uint64_t sequence; /* and its sequence. */
};

struct quarry_change {
    struct slice row;
    int64_t commit_us; /* When it was committed: rises along each row. */
    uint64_t sequence; /* Tells commits of equal time apart: the same. */
    const struct quarry_change_entry *entries; /* In the order they had. */
    size_t entry_count;
    struct quarry_origin origin;
};

#endif /* BIGTABLE_ROW_CHANGE_H */

/* Groups of a view: one for each key of each table of its program, with the
 * merged state of all that rows contribute to it.
 *
 * A group is one of three kinds, by what its states can do:
 *
 *   SUM    what a row contributed can be taken back from the state exactly
 *          (sums of integers and times, alone or in tuples);
 *   TREE   it can not: the group keeps the contribution of each row (`c`) in
 *          the order of hashes of the rows, and over them a tree of merged
 *          states (group_tree.h), so that a change costs a path of it;
 *   ORDER  the result is in the order of the rows (collection): the group keeps
 *          each contribution in that order, and a reader merges them.
 *
 * The value of a group's row is: version (1), kind (1), number, count of rows
 * that contribute, depth of its tree, and then the state.
 */
#ifndef BIGTABLE_VIEW_GROUP_H
#define BIGTABLE_VIEW_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/view/view_txn.h"

enum group_kind {
    GROUP_SUM = 1,
    GROUP_TREE = 2,
    GROUP_ORDER = 3,
};

struct group {
    uint32_t table;
    struct slice key; /* Borrowed. */
    enum group_kind kind;
    uint64_t number;
    uint64_t count;
    unsigned depth;
    struct buf state; /* Owned: group_close(). */
};

/* A row's contribution to a group was @before and is @after; either may be
 * absent, and they differ. Slices are borrowed. */
struct group_change {
    uint32_t table;
    struct slice key;
    struct slice row;
    bool was;
    bool is;
    struct slice before;
    struct slice after;
};

/* Apply @changes, in any order, to the groups that they name. Sorts them. */
MUST_CHECK int group_apply(struct view_txn *t,
                           struct group_change *changes,
                           size_t count,
                           struct err *err);

/* Of the row of a group, whose table and key are not in the value. On failure
 * it may be closed and is of no use else. ERR_CORRUPT. */
MUST_CHECK int
group_parse(struct slice value, struct group *out, struct err *err);
void group_close(struct group *g);
/* Table and key from the key of its row; false: it is none. */
bool group_parse_key(struct slice row_key, struct group *g);

#endif /* BIGTABLE_VIEW_GROUP_H */

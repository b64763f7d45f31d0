/* The tree of merged states over the contributions to one group.
 *
 * A contribution is stored under the hash of its row, 16 ways a digit. A node
 * of level L has the merged state of all contributions whose hashes begin with
 * its prefix of L digits; the group's row is the node of level 0. Where a group
 * has few contributions, it has no nodes beside; each time it outgrows 32
 * contributions a leaf, a level is added, up to three.
 *
 * Contributions that only come are merged into the nodes of their paths. Where
 * one goes, or is replaced, the lowest node of its path is merged from its
 * contributions again, and each node above from its (at most 16) children.
 *
 * Invariants
 *   INV-1. A node is there if and only if a contribution has its prefix.
 */
#ifndef BIGTABLE_VIEW_GROUP_TREE_H
#define BIGTABLE_VIEW_GROUP_TREE_H

#include <stddef.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct group;
struct group_change;
struct view_txn;

#define GROUP_TREE_DEPTH_MAX 3

/* Apply @changes, all of @g, whose count is right already: its state, its depth
 * and its nodes. The caller writes the group's row. Sorts @changes by hash. */
MUST_CHECK int group_tree_change(struct view_txn *t,
                                 struct group *g,
                                 struct group_change *changes,
                                 size_t count,
                                 struct err *err);

#endif /* BIGTABLE_VIEW_GROUP_TREE_H */

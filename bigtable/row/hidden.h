/* The families of a table that are not its users'. Of one with transactions:
 * locks, commits and what deletions leave for older snapshots
 * (docs/transactions.md). Of one with indexes: the marks of its rows
 * (index_set.h).
 *
 * They have a locality group of their own, so that other reads of the
 * table open none of their files. Reads leave them out unless a column range of
 * their filter, or a list of families, names one; a deletion of a row spares
 * them. Because a table has those of transactions, cells of other families are
 * kept for HIDDEN_KEEP_US after they were overwritten, whatever rule they have.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_ROW_HIDDEN_H
#define BIGTABLE_ROW_HIDDEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "bigtable/row/index_set.h"

#define HIDDEN_PREFIX ".txn."
#define HIDDEN_GROUP  ".txn"

#define HIDDEN_LOCKS   HIDDEN_PREFIX "lock"
#define HIDDEN_COMMITS HIDDEN_PREFIX "commit"
#define HIDDEN_DELETED HIDDEN_PREFIX "deleted"

/* Transactions end after 10 minutes; the rest is for clocks that differ. */
#define HIDDEN_KEEP_US ((int64_t)15 * 60 * 1000000)

struct hidden_family {
    const char *name;
    const char *options; /* As in struct quarry_family_spec. */
};

#define HIDDEN_FAMILY_COUNT 3

extern const struct hidden_family hidden_families[HIDDEN_FAMILY_COUNT];

static inline bool hidden_is_txn(struct slice family)
{
    return slice_starts_with(family, SLICE_LIT(HIDDEN_PREFIX));
}

static inline bool hidden_is_name(struct slice family)
{
    return hidden_is_txn(family) || slice_eq_str(family, INDEX_FAMILY);
}

static inline bool hidden_is_group(struct slice group)
{
    return slice_eq_str(group, HIDDEN_GROUP) ||
           slice_eq_str(group, INDEX_GROUP);
}

#endif /* BIGTABLE_ROW_HIDDEN_H */

/* The families of transactions: names and options.
 *
 * A lock is a cell that is overwritten, and so is the record of a commit, of
 * which some remain for those that ask later whether theirs was made; a record
 * of deleted cells has the time of the deletion. Commits and deletions matter
 * to transactions that were under way then, and to none later.
 */
#include "bigtable/row/hidden.h"

const struct hidden_family hidden_families[HIDDEN_FAMILY_COUNT] = {
    {HIDDEN_LOCKS, "versions=1,group=" HIDDEN_GROUP},
    {HIDDEN_COMMITS, "versions=8,ttl=1h,group=" HIDDEN_GROUP},
    {HIDDEN_DELETED, "ttl=1h,group=" HIDDEN_GROUP},
};

/* Tables that take part in transactions: what they have more than others, for
 * new ones and for those that are there. */
#include "base/core/err.h"
#include "bigtable/quarry_txn.h"
#include "bigtable/row/hidden.h"

void quarry_txn_specs(struct quarry_family_spec families[QUARRY_TXN_FAMILIES],
                      struct quarry_group_spec *group)
{
    STATIC_ASSERT(QUARRY_TXN_FAMILIES == HIDDEN_FAMILY_COUNT, "of all");
    for (size_t i = 0; i < HIDDEN_FAMILY_COUNT; i++)
        families[i] = (struct quarry_family_spec){hidden_families[i].name,
                                                  hidden_families[i].options};
    *group = (struct quarry_group_spec){HIDDEN_GROUP, ""};
}

void quarry_txn_changes(struct quarry_alter changes[QUARRY_TXN_CHANGES])
{
    changes[0] = (struct quarry_alter){QUARRY_ADD_GROUP, HIDDEN_GROUP, ""};
    for (size_t i = 0; i < HIDDEN_FAMILY_COUNT; i++)
        changes[1 + i] =
            (struct quarry_alter){QUARRY_ADD_FAMILY, hidden_families[i].name,
                                  hidden_families[i].options};
}

int quarry_table_enable_transactions(struct quarry *q,
                                     const char *table,
                                     struct err *err)
{
    struct quarry_alter changes[QUARRY_TXN_CHANGES];
    int rc;
    quarry_txn_changes(changes);
    rc = quarry_table_alter(q, table, changes, QUARRY_TXN_CHANGES, err);
    if (rc != ERR_EXISTS)
        return rc;
    return err_set(err, ERR_EXISTS,
                   "table %s takes part in transactions already", table);
}

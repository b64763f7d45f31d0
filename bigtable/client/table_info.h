/* The description of a table as one owned piece of memory: the part that its
 * schema determines. Each target adds what it knows of the tablets.
 */
#ifndef BIGTABLE_CLIENT_TABLE_INFO_H
#define BIGTABLE_CLIENT_TABLE_INFO_H

#include "base/core/arena.h"
#include "bigtable/quarry.h"

struct schema;

/* The arena holds everything but itself. */
struct owned_info {
    struct quarry_table_info info;
    struct arena arena;
};

/* Table @name with the families and groups of @s, and no tablets. Owned:
 * quarry_table_info_free(&info->info). */
struct owned_info *table_info_new(const char *name, const struct schema *s);

/* Take out the families and the group of transactions, and note instead that
 * the table has them. */
void table_info_hide(struct quarry_table_info *info);

#endif /* BIGTABLE_CLIENT_TABLE_INFO_H */

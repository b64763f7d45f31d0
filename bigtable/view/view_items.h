/* The rows of a view as a list of items: which part of which table of the
 * program each column is. Of a view by SQL they follow from the SQL; of one
 * that was translated elsewhere they are kept in its settings, as JSON.
 *
 * Threads: any.
 */
#ifndef BIGTABLE_VIEW_VIEW_ITEMS_H
#define BIGTABLE_VIEW_VIEW_ITEMS_H

#include <stddef.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/quarry_view.h"

/* Tables of a program that has items, and columns of its index. */
#define VIEW_TABLES_MAX 130
#define VIEW_KEYS_MAX   QUARRY_VIEW_ITEMS_MAX

struct view_settings;

struct view_items {
    struct arena arena; /* Of all names. */
    struct quarry_view_item list[QUARRY_VIEW_ITEMS_MAX];
    size_t count; /* 0: the view has none, but tables. */
    unsigned table_count;
    unsigned key_count; /* One more than the largest number of a key. */
    /* The number that the compiler gave the first table; -1: not known. */
    int first_table;
};

/* Append @list, and the number of the program's first table, as JSON.
 * ERR_INVALID: too many of something, names that are not UTF-8. */
MUST_CHECK int view_items_put(const struct quarry_view_item *list,
                              size_t count,
                              unsigned first_table,
                              struct buf *out,
                              struct err *err);
/* The items of the view with the settings @s. *@out is owned:
 * view_items_close(), also after a failure. ERR_CORRUPT. */
MUST_CHECK int view_items_of(const struct view_settings *s,
                             struct view_items *out,
                             struct err *err);
void view_items_close(struct view_items *v);

#endif /* BIGTABLE_VIEW_VIEW_ITEMS_H */

/* A table: a name, and a view of its schema and tablets at one moment.
 *
 * Threads: any. A view is immutable; whoever uses one holds a reference. It is
 * replaced, under the write turn, when the schema or the tablets change.
 */
#ifndef BIGTABLE_TABLET_TABLE_H
#define BIGTABLE_TABLET_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "base/runtime/sync.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/manifest_state.h" /* TABLE_NAME_BYTES_MAX */

struct store;
struct tablet;

struct table_view {
    atomic_uint references;
    struct schema *schema; /* Owned. */
    uint64_t generation;   /* Changes with the schema. */
    size_t tablet_count;
    struct tablet *tablets[]; /* Referenced; ascending, without gaps. */
};

struct table {
    atomic_uint references;
    struct store *store; /* Borrowed. */
    uint64_t id;
    char name[TABLE_NAME_BYTES_MAX + 1];
    struct mutex lock;       /* Of `view`. */
    struct table_view *view; /* NULL: the table was dropped. */
};

/* @tablets' references move in; @schema is copied. One reference. */
struct table_view *table_view_new(const struct schema *schema,
                                  uint64_t generation,
                                  struct tablet *const *tablets,
                                  size_t count);
void table_view_unref(struct table_view *v); /* NULL is allowed. Parks. */
/* The tablet that holds @row, and its index. Borrowed. */
struct tablet *
table_view_find(const struct table_view *v, struct slice row, size_t *index);
/* Index of the schema's group with @id. PRE: it has it. */
size_t table_view_group(const struct table_view *v, uint32_t id);

struct table *table_new(struct store *store, uint64_t id, const char *name);
struct table *table_ref(struct table *t);
void table_unref(struct table *t); /* NULL is allowed. Parks. */

/* The view in force, referenced; NULL when the table was dropped. */
struct table_view *table_get_view(struct table *t);
/* Is @v in force? Cheap. PRE: the write turn is held. */
bool table_view_is_current(const struct table *t, const struct table_view *v);
/* Put @v (NULL: drop) in force; its reference moves in. Parks. */
void table_set_view(struct table *t, struct table_view *v);
/* The message for a dropped table; returns ERR_NOTFOUND. */
int table_gone(const struct table *t, struct err *err);

#endif /* BIGTABLE_TABLET_TABLE_H */

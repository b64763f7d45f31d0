/* Tables: creating, changing, opening, maintaining. */
#include "bigtable/tablet/table.h"

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/client.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/maintain.h"
#include "bigtable/tablet/split.h"
#include "bigtable/tablet/store.h"

/* --- creating and changing ----------------------------------------------- */

static int build_schema(struct schema *s,
                        const struct quarry_family_spec *families,
                        size_t family_count,
                        const struct quarry_group_spec *groups,
                        size_t group_count,
                        struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < group_count && rc == 0; i++)
        rc =
            schema_group(s, slice_str(groups[i].name)) && i == 0
                ? schema_update_group(s, groups[i].name, groups[i].options, err)
                : schema_add_group(s, groups[i].name, groups[i].options, err);
    for (size_t i = 0; i < family_count && rc == 0; i++)
        rc = schema_add_family(s, families[i].name, families[i].options, err);
    return rc;
}

int quarry_table_create(struct quarry *q,
                        const char *name,
                        const struct quarry_family_spec *families,
                        size_t family_count,
                        const struct quarry_group_spec *groups,
                        size_t group_count,
                        struct err *err)
{
    struct schema *s = schema_new();
    int rc = build_schema(s, families, family_count, groups, group_count, err);
    if (rc == 0)
        rc = store_create_table(q->store, name, s, err);
    if (rc)
        err_wrap(err, "create table %s", name);
    schema_free(s);
    return rc;
}

int quarry_table_drop(struct quarry *q, const char *name, struct err *err)
{
    return store_drop_table(q->store, name, err);
}

struct changes {
    const struct quarry_alter *list;
    size_t count;
};

static int
make_change(struct schema *s, const struct quarry_alter *a, struct err *err)
{
    switch (a->kind) {
    case QUARRY_ADD_FAMILY:
        return schema_add_family(s, a->name, a->options, err);
    case QUARRY_UPDATE_FAMILY:
        return schema_update_family(s, a->name, a->options, err);
    case QUARRY_DROP_FAMILY: return schema_drop_family(s, a->name, err);
    case QUARRY_ADD_GROUP: return schema_add_group(s, a->name, a->options, err);
    case QUARRY_UPDATE_GROUP:
        return schema_update_group(s, a->name, a->options, err);
    }
    return err_set(err, ERR_INVALID, "unknown change %d", (int)a->kind);
}

static int make_changes(void *ctx, struct schema *s, struct err *err)
{
    const struct changes *c = ctx;
    int rc = 0;
    for (size_t i = 0; i < c->count && rc == 0; i++)
        rc = make_change(s, &c->list[i], err);
    return rc;
}

int quarry_table_alter(struct quarry *q,
                       const char *name,
                       const struct quarry_alter *changes,
                       size_t change_count,
                       struct err *err)
{
    struct changes c = {changes, change_count};
    struct table *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = store_alter_table(q->store, t, make_changes, &c, err);
    if (rc)
        err_wrap(err, "alter table %s", name);
    table_unref(t);
    return rc;
}

/* --- opening ---------------------------------------------------------------
 */

int quarry_table_list(struct quarry *q,
                      char ***names,
                      size_t *count,
                      struct err *err)
{
    (void)err; /* The list is in memory. */
    store_table_names(q->store, names, count);
    return 0;
}

void quarry_names_free(char **names, size_t count)
{
    world_names_free(names, count);
}

int quarry_table_open(struct quarry *q,
                      const char *name,
                      struct quarry_table **out,
                      struct err *err)
{
    struct table *table;
    int rc = store_find_table(q->store, name, &table, err);
    *out = NULL;
    if (rc)
        return rc;
    *out = mem_zalloc(1, sizeof(**out));
    (*out)->quarry = q;
    (*out)->table = table;
    return 0;
}

void quarry_table_close(struct quarry_table *t)
{
    if (!t)
        return;
    table_unref(t->table);
    mem_free(t);
}

/* --- maintaining -----------------------------------------------------------
 */

int quarry_table_split(struct quarry *q,
                       const char *name,
                       struct slice row,
                       struct err *err)
{
    struct table *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = split_at(q->store, t, row, err);
    table_unref(t);
    return rc;
}

int quarry_table_compact(struct quarry *q, const char *name, struct err *err)
{
    struct table *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = compact_table(q->store, t, err);
    table_unref(t);
    return rc;
}

int quarry_table_drop_rows(struct quarry *q,
                           const char *name,
                           struct slice start,
                           struct slice end,
                           struct err *err)
{
    struct table *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = drop_rows(q->store, t, start, end, err);
    table_unref(t);
    return rc;
}

int quarry_table_split_points(struct quarry_table *t,
                              size_t parts,
                              struct slice **keys,
                              size_t *count,
                              struct err *err)
{
    return table_split_points(t->table, parts, keys, count, err);
}

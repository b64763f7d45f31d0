/* Tables of a directory: creating, changing, opening, maintaining. Each
 * function finds the table and calls the store; what only a cluster can do
 * (copies of a table's files, moving a tablet) is refused.
 */
#include "bigtable/client/embedded/embedded.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/schema.h"
#include "bigtable/store/maintain.h"
#include "bigtable/store/split.h"
#include "bigtable/store/store.h"
#include "bigtable/tablet/table_part.h"
#include "bigtable/wire/data_calls.h"

/* --- creating and changing ----------------------------------------------- */

/* A directory has one copy of everything. */
static int refuse_replication(const struct schema *s, struct err *err)
{
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i].options.replication)
            return err_set(err, ERR_UNSUPPORTED,
                           "replication=%u: a directory keeps one copy; "
                           "several are for clusters",
                           s->groups[i].options.replication);
    return 0;
}

int embedded_table_create(struct quarry *q,
                          const char *name,
                          const struct schema *schema,
                          struct err *err)
{
    int rc = refuse_replication(schema, err);
    return rc ? rc : store_create_table(q->store, name, schema, err);
}

int embedded_table_drop(struct quarry *q, const char *name, struct err *err)
{
    return store_drop_table(q->store, name, err);
}

struct changes {
    const struct quarry_alter *list;
    size_t count;
};

static int make_changes(void *ctx, struct schema *s, struct err *err)
{
    const struct changes *c = ctx;
    int rc = alter_schema(s, c->list, c->count, err);
    return rc ? rc : refuse_replication(s, err);
}

int embedded_table_alter(struct quarry *q,
                         const char *name,
                         const struct quarry_alter *changes,
                         size_t change_count,
                         struct err *err)
{
    struct changes c = {changes, change_count};
    struct table_part *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = store_alter_table(q->store, t, make_changes, &c, err);
    if (rc)
        err_wrap(err, "alter table %s", name);
    table_part_unref(t);
    return rc;
}

/* --- opening ------------------------------------------------------------- */

int embedded_table_list(struct quarry *q,
                        char ***names,
                        size_t *count,
                        struct err *err)
{
    (void)err; /* The list is in memory. */
    table_part_names(q->store, names, count);
    return 0;
}

int embedded_table_open(struct quarry_table *t,
                        const char *name,
                        struct err *err)
{
    return store_find_table(t->quarry->store, name, &t->table, err);
}

void embedded_table_hold(struct quarry_table *t)
{
    table_part_ref(t->table);
}

void embedded_table_release(struct quarry_table *t)
{
    table_part_unref(t->table);
}

const char *embedded_table_name(const struct quarry_table *t)
{
    return t->table->name;
}

bool embedded_table_has_transactions(const struct quarry_table *t)
{
    return atomic_load_explicit(&t->table->has_transactions,
                                memory_order_relaxed);
}

uint64_t embedded_table_number(const struct quarry_table *t)
{
    return t->table->id;
}

int embedded_table_check_family(struct quarry_table *t,
                                const char *family,
                                struct err *err)
{
    struct table_part_view *v = table_part_get_view(t->table);
    int rc = 0;
    if (!v)
        return table_part_gone(t->table, err);
    if (!schema_family(v->schema, slice_str(family)))
        rc = schema_no_family(v->schema, slice_str(family), err);
    table_part_view_unref(v);
    return rc;
}

int embedded_table_indexes(struct quarry_table *t,
                           struct index_set **out,
                           struct err *err)
{
    struct table_part_view *v = table_part_get_view(t->table);
    *out = NULL;
    if (!v)
        return table_part_gone(t->table, err);
    *out = index_set_ref(v->schema->indexes);
    table_part_view_unref(v);
    return 0;
}

/* --- maintaining --------------------------------------------------------- */

int embedded_table_split(struct quarry *q,
                         const char *name,
                         struct slice row,
                         struct err *err)
{
    struct table_part *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = split_at(q->store, t, row, err);
    table_part_unref(t);
    return rc;
}

int embedded_table_move_tablet(struct quarry *q,
                               const char *name,
                               struct slice row,
                               const char *server,
                               struct quarry_move *out,
                               struct err *err)
{
    (void)q;
    (void)name;
    (void)row;
    (void)server;
    *out = (struct quarry_move){.tablet = 0};
    err_set(err, ERR_UNSUPPORTED,
            "the tablets of a directory are all in one process");
    err_hint(err, "a cluster is -t HOST:PORT,…");
    return ERR_UNSUPPORTED;
}

int embedded_table_compact(struct quarry *q,
                           const char *name,
                           struct slice start,
                           struct slice end,
                           struct err *err)
{
    struct table_part *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = compact_table(q->store, t, start, end, err);
    table_part_unref(t);
    return rc;
}

int embedded_table_drop_rows(struct quarry *q,
                             const char *name,
                             struct slice start,
                             struct slice end,
                             struct err *err)
{
    struct table_part *t;
    int rc = store_find_table(q->store, name, &t, err);
    if (rc)
        return rc;
    rc = drop_rows(q->store, t, start, end, err);
    table_part_unref(t);
    return rc;
}

int embedded_table_split_points(struct quarry_table *t,
                                size_t parts,
                                struct slice **keys,
                                size_t *count,
                                struct err *err)
{
    return table_split_points(t->table, parts, keys, count, err);
}

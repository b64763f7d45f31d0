/* A table with a row a view. The SELECT is kept beside the statement that makes
 * the view, so that bounds can be pushed into it without parsing that again.
 */
#include "bigtable/sql/sql_views.h"

#include <string.h>
#include <strings.h>

#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/sql/sql_session.h"

#define VIEWS_FAMILY "view"

static void free_view(struct sql_view *v)
{
    mem_free(v->name);
    mem_free(v->sql);
    mem_free(v->select);
}

void sql_views_close(struct sql_views *v)
{
    for (size_t i = 0; i < v->count; i++)
        free_view(&v->list[i]);
    mem_free(v->list);
    *v = (struct sql_views){.list = NULL};
}

const struct sql_view *sql_views_find(const struct sql_views *v,
                                      const char *name)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcasecmp(v->list[i].name, name) == 0)
            return &v->list[i];
    return NULL;
}

static void forget_view(struct sql_views *v, const char *name)
{
    for (size_t i = 0; i < v->count; i++)
        if (strcasecmp(v->list[i].name, name) == 0) {
            free_view(&v->list[i]);
            v->list[i] = v->list[--v->count];
            return;
        }
}

static void add_view(struct sql_views *v,
                     struct slice name,
                     struct slice sql,
                     struct slice select)
{
    v->list = mem_realloc(v->list, (v->count + 1) * sizeof(*v->list));
    v->list[v->count++] =
        (struct sql_view){.name = mem_strndup(name.data, name.len),
                          .sql = mem_strndup(sql.data, sql.len),
                          .select = mem_strndup(select.data, select.len)};
}

static struct slice cell_value(const struct quarry_row *row, const char *name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (slice_eq(row->cells[i].qualifier, slice_str(name)))
            return row->cells[i].value;
    return SLICE_LIT("");
}

int sql_views_read(struct sql_views *v, struct quarry *q, struct err *err)
{
    const struct quarry_read_options opts = {.versions = 1};
    struct quarry_table *t;
    struct quarry_scanner *rows;
    const struct quarry_row *row;
    int rc = quarry_table_open(q, SQL_VIEWS_TABLE, &t, err);
    if (rc)
        return rc == ERR_NOTFOUND ? 0 : rc;
    rc = quarry_scan(t, &opts, &rows, err);
    if (rc == 0) {
        while (!(rc = quarry_scanner_next(rows, &row, err)) && row)
            add_view(v, row->key, cell_value(row, "sql"),
                     cell_value(row, "select"));
        quarry_scanner_close(rows);
    }
    quarry_table_close(t);
    return rc;
}

static int
open_views(struct quarry *q, struct quarry_table **t, struct err *err)
{
    const struct quarry_family_spec family = {VIEWS_FAMILY, "versions=1"};
    int rc = quarry_table_open(q, SQL_VIEWS_TABLE, t, NULL);
    if (rc == ERR_NOTFOUND)
        rc = quarry_table_create(q, SQL_VIEWS_TABLE, &family, 1, NULL, 0, err);
    if (rc && rc != ERR_EXISTS)
        return rc;
    return *t ? 0 : quarry_table_open(q, SQL_VIEWS_TABLE, t, err);
}

static int
change_views(struct quarry *q, const struct quarry_mutation *m, struct err *err)
{
    struct quarry_table *t = NULL;
    int rc = open_views(q, &t, err);
    if (rc)
        return rc;
    rc = quarry_apply(t, m, NULL, err);
    quarry_table_close(t);
    return rc;
}

int sql_views_keep(struct sql_views *v,
                   struct quarry *q,
                   const char *name,
                   struct slice sql,
                   struct slice select,
                   struct err *err)
{
    struct quarry_mutation *m = quarry_mutation_new(slice_str(name));
    int rc;
    quarry_mutation_set(m, VIEWS_FAMILY, SLICE_LIT("sql"), QUARRY_NOW, sql);
    quarry_mutation_set(m, VIEWS_FAMILY, SLICE_LIT("select"), QUARRY_NOW,
                        select);
    rc = change_views(q, m, err);
    quarry_mutation_free(m);
    if (rc)
        return rc;
    forget_view(v, name);
    add_view(v, slice_str(name), sql, select);
    return 0;
}

int sql_views_drop(struct sql_views *v,
                   struct quarry *q,
                   const char *name,
                   struct err *err)
{
    const struct sql_view *view = sql_views_find(v, name);
    struct quarry_mutation *m;
    int rc;
    if (!view)
        return 0;
    m = quarry_mutation_new(slice_str(view->name));
    quarry_mutation_delete_row(m);
    rc = change_views(q, m, err);
    quarry_mutation_free(m);
    if (rc == 0)
        forget_view(v, name);
    return rc;
}

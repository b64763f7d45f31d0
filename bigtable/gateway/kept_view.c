/* A kept view is one of the store (bigtable/quarry_view.h), made of the program
 * that its query was translated to. That it belongs to a materialized view of
 * the API is a part of its settings, so that no other view of that name is
 * taken for it.
 *
 * Keys of the registry: "view-changes/TABLE" with the setting of the store's
 * table that was made for views, and goes with the last of them.
 */
#include "bigtable/gateway/kept_view.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/query_plan.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/googlesql/gsql_program.h"
#include "bigtable/quarry_view.h"

#define CHANGES_PREFIX "view-changes/"
#define CHANGES_KEEP   "1d"
#define NAME_BYTES_MAX 64

/* --- names --------------------------------------------------------------- */

void kept_view_name(struct gateway *g,
                    struct slice instance,
                    struct slice id,
                    struct buf *out)
{
    char name[STORE_NAME_BYTES];
    const size_t at = out->len;
    if (store_name_make(g->home, instance, id, name, NULL) == 0)
        buf_append_str(out, name);
    if (out->len > at && out->len - at <= NAME_BYTES_MAX &&
        strspn(out->data + at, "abcdefghijklmnopqrstuvwxyz0123456789_.-") ==
            out->len - at)
        return;
    buf_truncate(out, at);
    buf_printf(out, "mv-%016llx",
               (unsigned long long)hash_mix(hash64_slice(instance) ^
                                            hash_mix(hash64_slice(id))));
}

/* "I/V": whose it is. */
static void
put_resource(struct slice instance, struct slice id, struct buf *out)
{
    buf_printf(out, "%.*s/%.*s", SLICE_ARG(instance), SLICE_ARG(id));
}

static bool is_of_instance(const struct quarry_view_info *v,
                           struct slice instance)
{
    const struct slice r = slice_str(v->resource);
    return r.len > instance.len && slice_starts_with(r, instance) &&
           r.data[instance.len] == '/';
}

/* --- changes of the table ------------------------------------------------ */

static void changes_key(const char *table, struct buf *out)
{
    buf_printf(out, CHANGES_PREFIX "%s", table);
}

static int set_changes(struct gateway *g,
                       const char *table,
                       const char *setting,
                       struct err *err)
{
    const struct quarry_alter alter = {QUARRY_SET_CHANGES, setting, ""};
    return quarry_table_alter(g->quarry, table, &alter, 1, err);
}

static int get_changes(struct gateway *g,
                       const char *table,
                       struct buf *out,
                       struct err *err)
{
    struct quarry_table_info *info;
    int rc = quarry_table_describe(g->quarry, table, &info, err);
    if (rc)
        return rc;
    buf_append_str(out, info->changes);
    quarry_table_info_free(info);
    return 0;
}

/* Turn them on where they are off, and remember that. */
static int want_changes(struct gateway *g, const char *table, struct err *err)
{
    struct buf now = BUF_INIT;
    struct buf key = BUF_INIT;
    int rc = get_changes(g, table, &now, err);
    if (rc == 0 && strcmp(buf_cstr(&now), "off") == 0) {
        rc = set_changes(g, table, CHANGES_KEEP, err);
        buf_clear(&now);
        if (rc == 0)
            rc = get_changes(g, table, &now, err);
        changes_key(table, &key);
        if (rc == 0)
            rc = registry_put(g->own, buf_slice(&key), buf_slice(&now), err);
    }
    buf_close(&now);
    buf_close(&key);
    return rc;
}

/* All views that the caller may know of. */
static int list_views(struct quarry *q,
                      struct quarry_view_info **list,
                      size_t *count,
                      struct err *err)
{
    int rc = quarry_view_list(q, list, count, err);
    if (rc != ERR_DENIED)
        return rc;
    *list = NULL;
    *count = 0;
    *err = ERR_INIT;
    return 0;
}

static int count_views(struct gateway *g,
                       const char *table,
                       size_t *count,
                       struct err *err)
{
    struct quarry_view_info *list = NULL;
    size_t n = 0;
    int rc = list_views(g->quarry, &list, &n, err);
    *count = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        *count += strcmp(list[i].table, table) == 0;
    quarry_view_infos_free(list, n);
    return rc;
}

/* Turn off those that were turned on here, when no view needs them. */
static int
release_changes(struct gateway *g, const char *table, struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf made = BUF_INIT;
    struct buf now = BUF_INIT;
    bool found = false;
    size_t views = 0;
    int rc;
    changes_key(table, &key);
    rc = registry_get(g->own, buf_slice(&key), &made, &found, err);
    if (rc == 0 && found)
        rc = count_views(g, table, &views, err);
    if (rc == 0 && found && views == 0) {
        rc = get_changes(g, table, &now, err);
        if (rc == 0 && slice_eq(buf_slice(&now), buf_slice(&made)))
            rc = set_changes(g, table, "off", err);
        if (rc == 0 || rc == ERR_NOTFOUND)
            rc = registry_remove(g->own, buf_slice(&key), err);
    }
    buf_close(&key);
    buf_close(&made);
    buf_close(&now);
    return rc;
}

/* --- making -------------------------------------------------------------- */

static enum quarry_view_type type_of(enum gsql_kind kind)
{
    if (kind == GSQL_INT64)
        return QUARRY_VIEW_INT;
    if (kind == GSQL_FLOAT64)
        return QUARRY_VIEW_FLOAT;
    if (kind == GSQL_BOOL)
        return QUARRY_VIEW_BOOL;
    if (kind == GSQL_TIMESTAMP)
        return QUARRY_VIEW_TIME;
    return kind == GSQL_BYTES ? QUARRY_VIEW_BYTES : QUARRY_VIEW_TEXT;
}

static struct quarry_view_place place_of(const struct gsql_program_place *p)
{
    return (struct quarry_view_place){p->kind, p->table, p->field};
}

static struct quarry_view_item item_of(const struct gsql_program_column *c)
{
    static const enum quarry_view_source sources[] = {
        [GSQL_PROGRAM_KEY] = QUARRY_VIEW_KEY,
        [GSQL_PROGRAM_COUNT] = QUARRY_VIEW_COUNT,
        [GSQL_PROGRAM_VALUE] = QUARRY_VIEW_VALUE,
        [GSQL_PROGRAM_AVERAGE] = QUARRY_VIEW_AVERAGE,
    };

    return (struct quarry_view_item){.name = c->name.data,
                                     .type = type_of(c->type),
                                     .source = sources[c->source],
                                     .key = c->key,
                                     .value = place_of(&c->value),
                                     .count = place_of(&c->count)};
}

STATIC_ASSERT(GSQL_PROGRAM_COLUMNS_MAX <= QUARRY_VIEW_ITEMS_MAX,
              "a view has room for all columns");

static int make_view(struct gateway *g,
                     const char *name,
                     const char *resource,
                     const char *query,
                     const struct gsql_program *p,
                     struct err *err)
{
    struct quarry_view_item items[QUARRY_VIEW_ITEMS_MAX];
    const struct quarry_view_spec spec = {.name = name,
                                          .table = p->table.data,
                                          .program = p->text,
                                          .items = items,
                                          .item_count = p->column_count,
                                          .text = query,
                                          .resource = resource};
    struct err ignored = ERR_INIT;
    int rc;
    for (size_t i = 0; i < p->column_count; i++)
        items[i] = item_of(&p->columns[i]);
    rc = want_changes(g, p->table.data, err);
    if (rc)
        return rc;
    rc = quarry_view_create(g->quarry, &spec, err);
    if (rc && release_changes(g, p->table.data, &ignored))
        err_hint(err, "table %s keeps its changes", p->table.data);
    return rc;
}

static int keep_view(struct gateway *g,
                     struct slice instance,
                     struct slice id,
                     struct slice query,
                     struct err *err)
{
    struct query_plan plan;
    struct resource_name parsed;
    struct gsql_program *p = mem_zalloc(1, sizeof(*p));
    struct buf name = BUF_INIT;
    struct buf resource = BUF_INIT;
    struct buf text = BUF_INIT;
    int rc = resource_name_parse_kind(instance, "", &parsed, err);
    query_plan_init(&plan, instance, query);
    if (rc == 0)
        rc = query_plan_program(&plan, g, p, err);
    if (rc == 0) {
        kept_view_name(g, parsed.instance, id, &name);
        put_resource(parsed.instance, id, &resource);
        buf_append_slice(&text, query);
        rc = make_view(g, buf_cstr(&name), buf_cstr(&resource), buf_cstr(&text),
                       p, err);
    }
    query_plan_close(&plan);
    mem_free(p);
    buf_close(&name);
    buf_close(&resource);
    buf_close(&text);
    return rc;
}

void kept_view_create(struct gateway *g,
                      struct slice instance,
                      struct slice id,
                      struct slice query)
{
    struct err why = ERR_INIT;
    if (keep_view(g, instance, id, query, &why))
        log_warn(g->world, "gateway",
                 "materialized view=\"%.*s\" is executed at each read "
                 "why=\"%s\"",
                 SLICE_ARG(id), why.text);
}

/* --- dropping ------------------------------------------------------------ */

static int
drop_one(struct gateway *g, const struct quarry_view_info *v, struct err *err)
{
    int rc = quarry_view_drop(g->quarry, v->name, err);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    return rc ? rc : release_changes(g, v->table, err);
}

int kept_view_drop(struct gateway *g,
                   struct slice instance,
                   struct slice id,
                   struct err *err)
{
    struct quarry_view_info *v = NULL;
    struct buf name = BUF_INIT;
    struct buf resource = BUF_INIT;
    int rc;
    kept_view_name(g, instance, id, &name);
    put_resource(instance, id, &resource);
    rc = quarry_view_describe(g->quarry, buf_cstr(&name), &v, err);
    if (rc == 0 && strcmp(v->resource, buf_cstr(&resource)) == 0)
        rc = drop_one(g, v, err);
    quarry_view_infos_free(v, 1);
    buf_close(&name);
    buf_close(&resource);
    return rc == ERR_NOTFOUND ? 0 : rc;
}

int kept_view_drop_all(struct gateway *g,
                       struct slice instance,
                       struct err *err)
{
    struct quarry_view_info *list = NULL;
    size_t count = 0;
    int rc = list_views(g->quarry, &list, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (is_of_instance(&list[i], instance))
            rc = drop_one(g, &list[i], err);
    quarry_view_infos_free(list, count);
    return rc;
}

int kept_view_refresh(struct gateway *g, const char *table, struct err *err)
{
    struct quarry_view_info *list = NULL;
    size_t count = 0;
    int rc = list_views(g->quarry, &list, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (*list[i].resource && strcmp(list[i].table, table) == 0)
            rc = quarry_view_refresh(g->quarry, list[i].name, err);
    quarry_view_infos_free(list, count);
    return rc;
}

int kept_view_check_none(struct gateway *g, const char *table, struct err *err)
{
    struct quarry_view_info *list = NULL;
    size_t count = 0;
    int rc = list_views(g->own, &list, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (*list[i].resource && strcmp(list[i].table, table) == 0)
            rc = err_set(err, ERR_DENIED,
                         "table %s has the materialized view %s (delete it "
                         "first)",
                         table, strchr(list[i].resource, '/') + 1);
    quarry_view_infos_free(list, count);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

/* A caller without rights to what is kept may have those to the table: then the
 * query is executed. */
int kept_view_open(struct gateway *g,
                   struct slice instance,
                   struct slice id,
                   struct quarry_view_scan **out,
                   struct err *err)
{
    struct buf name = BUF_INIT;
    struct buf resource = BUF_INIT;
    struct quarry_view_scan_options o = {.maintained = true,
                                         .source_rights = true};
    int rc;
    kept_view_name(g, instance, id, &name);
    put_resource(instance, id, &resource);
    o.resource = buf_cstr(&resource);
    rc = quarry_view_scan_open(g->quarry, buf_cstr(&name), &o, out, err);
    buf_close(&name);
    buf_close(&resource);
    return rc == ERR_BUSY || rc == ERR_DENIED ? ERR_NOTFOUND : rc;
}

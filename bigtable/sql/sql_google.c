/* The catalog of a store for the translator (bigtable/googlesql): which
 * tables there are, and the names that DuckDB knows them by. */
#include "bigtable/sql/sql_google.h"

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "bigtable/googlesql/gsql_literal.h"
#include "bigtable/googlesql/gsql_translate.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_view.h"

static const struct gsql_type *type_of(enum quarry_view_type type)
{
    static const enum gsql_kind kinds[] = {
        [QUARRY_VIEW_TEXT] = GSQL_STRING, [QUARRY_VIEW_BYTES] = GSQL_BYTES,
        [QUARRY_VIEW_INT] = GSQL_INT64,   [QUARRY_VIEW_FLOAT] = GSQL_FLOAT64,
        [QUARRY_VIEW_BOOL] = GSQL_BOOL,   [QUARRY_VIEW_TIME] = GSQL_TIMESTAMP,
    };

    return gsql_scalar(kinds[type]);
}

/* A materialized view of that name; else @err stays as it is. */
static int find_view(struct quarry *q,
                     const char *name,
                     struct arena *arena,
                     struct gsql_relation *out,
                     struct err *err)
{
    const struct quarry_view_column *from;
    struct quarry_view_scan *s = NULL;
    struct gsql_column *columns;
    struct err why = ERR_INIT;
    size_t count;
    int rc = quarry_view_scan_open(q, name, NULL, &s, &why);
    if (rc)
        return rc == ERR_NOTFOUND ? rc : err_copy(err, &why);
    count = quarry_view_scan_columns(s, &from);
    columns = arena_zalloc(arena, (count + 1) * sizeof(*columns));
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct gsql_column){
            .name = slice_str(arena_strdup(arena, from[i].name)),
            .type = type_of(from[i].type)};
    quarry_view_scan_close(s);
    *out = (struct gsql_relation){
        .table = slice_str(name), .kept = columns, .kept_count = count};
    return 0;
}

static int find_table(void *ctx,
                      struct slice name,
                      struct arena *arena,
                      struct gsql_relation *out,
                      struct err *err)
{
    struct quarry_table_info *info;
    const char *text = arena_printf(arena, "%.*s", SLICE_ARG(name));
    struct slice *families;
    int rc = quarry_table_describe(ctx, text, &info, err);
    if (rc == ERR_NOTFOUND)
        return find_view(ctx, text, arena, out, err);
    if (rc)
        return rc;
    families = arena_alloc(arena, (info->family_count + 1) * sizeof(*families));
    for (size_t i = 0; i < info->family_count; i++)
        families[i] = slice_str(arena_strdup(arena, info->families[i].name));
    *out = (struct gsql_relation){.table = slice_str(text),
                                  .families = families,
                                  .family_count = info->family_count};
    quarry_table_info_free(info);
    return 0;
}

static void put_named(const struct gsql_result *r, struct buf *out)
{
    for (size_t i = 0; i < r->column_count; i++) {
        const struct slice name = r->columns[i].name;
        buf_printf(out, "%s c%zu AS ", i ? "," : "SELECT", i);
        if (name.len)
            gsql_put_field_name(out, name, i);
        else
            buf_printf(out, "f%zu_", i);
    }
    buf_printf(out, " FROM (%.*s)", SLICE_ARG(r->sql));
}

int sql_google_translate(struct quarry *q,
                         struct slice text,
                         struct buf *out,
                         struct err *err)
{
    const struct gsql_options options = {.find = find_table, .ctx = q};
    struct gsql_result result;
    struct arena arena;
    int rc;
    arena_init(&arena);
    rc = gsql_translate(text, &options, &arena, &result, err);
    if (rc == 0)
        put_named(&result, out);
    arena_close(&arena);
    return rc;
}

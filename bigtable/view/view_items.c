/* Items from and to the settings of a view. Settings are checked when they are
 * read back: tables and fields are used as numbers later. */
#include "bigtable/view/view_items.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/view/view_settings.h"
#include "bigtable/view/view_sql.h"

/* A tuple of a program that has items has a few fields for each of them. */
#define FIELDS_MAX 200

static const char *const table_kinds[] = {"sum", "maximum", "minimum"};

/* --- to JSON ------------------------------------------------------------- */

static json_t *pack_place(const struct quarry_view_place *p)
{
    return p->kind
               ? json_pack("[s, i, i]", p->kind, (int)p->table, (int)p->field)
               : json_null();
}

static json_t *pack_item(const struct quarry_view_item *i)
{
    return json_pack("[s, i, i, i, o, o]", i->name, (int)i->type,
                     (int)i->source, (int)i->key, pack_place(&i->value),
                     pack_place(&i->count));
}

int view_items_put(const struct quarry_view_item *list,
                   size_t count,
                   unsigned first_table,
                   struct buf *out,
                   struct err *err)
{
    json_t *root = json_array();
    json_t *whole;
    char *text = NULL;
    int rc = 0;

    if (count > QUARRY_VIEW_ITEMS_MAX)
        rc = err_set(err, ERR_TOOBIG, "more than %d columns",
                     QUARRY_VIEW_ITEMS_MAX);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (json_array_append_new(root, pack_item(&list[i])))
            rc = err_set(err, ERR_INVALID, "a column's name is not UTF-8");
    whole = json_pack("{s: i, s: o}", "first", (int)first_table, "items", root);
    if (rc == 0)
        text = json_dumps(whole, JSON_COMPACT);
    if (text)
        buf_append_str(out, text);
    free(text);
    json_decref(whole);
    return rc;
}

/* --- from JSON ----------------------------------------------------------- */

static bool take_number(const json_t *list, size_t at, json_int_t max, int *out)
{
    const json_t *n = json_array_get(list, at);
    const json_int_t v = json_integer_value(n);
    *out = (int)v;
    return json_is_integer(n) && v >= 0 && v < max;
}

static bool take_place(struct view_items *v,
                       const json_t *list,
                       struct quarry_view_place *out)
{
    const char *kind = json_string_value(json_array_get(list, 0));
    int table, field;
    *out = (struct quarry_view_place){.kind = NULL};
    if (json_is_null(list))
        return true;
    if (!kind || !take_number(list, 1, VIEW_TABLES_MAX, &table) ||
        !take_number(list, 2, FIELDS_MAX, &field))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(table_kinds); i++)
        if (strcmp(table_kinds[i], kind) == 0)
            out->kind = table_kinds[i];
    out->table = (unsigned)table;
    out->field = (unsigned)field;
    v->table_count = MAX_OF(v->table_count, out->table + 1);
    return out->kind != NULL;
}

static bool take_item(struct view_items *v, const json_t *list)
{
    const char *name = json_string_value(json_array_get(list, 0));
    struct quarry_view_item *i = &v->list[v->count];
    int type, source, key;
    if (v->count == QUARRY_VIEW_ITEMS_MAX || !name ||
        !take_number(list, 1, QUARRY_VIEW_TIME + 1, &type) ||
        !take_number(list, 2, QUARRY_VIEW_AVERAGE + 1, &source) ||
        !take_number(list, 3, VIEW_KEYS_MAX, &key) ||
        !take_place(v, json_array_get(list, 4), &i->value) ||
        !take_place(v, json_array_get(list, 5), &i->count))
        return false;
    i->name = arena_strdup(&v->arena, name);
    i->type = (enum quarry_view_type)type;
    i->source = (enum quarry_view_source)source;
    i->key = (unsigned)key;
    v->count++;
    return (i->source == QUARRY_VIEW_KEY) == (i->value.kind == NULL) &&
           (i->source != QUARRY_VIEW_AVERAGE || i->count.kind);
}

static int parse_items(struct slice text, struct view_items *v, struct err *err)
{
    json_t *root = json_loadb(text.data, text.len, 0, NULL);
    const json_t *list = json_object_get(root, "items");
    const json_int_t first = json_integer_value(json_object_get(root, "first"));
    bool ok = json_is_array(list) && first >= 0 && first < FIELDS_MAX;
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = take_item(v, json_array_get(list, i));
    v->first_table = (int)first;
    json_decref(root);
    return ok ? 0
              : err_set(err, ERR_CORRUPT,
                        "the columns of the view are damaged");
}

/* --- of SQL -------------------------------------------------------------- */

static struct quarry_view_item item_of(struct view_items *v,
                                       const struct view_sql_item *from)
{
    static const enum quarry_view_source sources[] = {
        [VIEW_SQL_KEY] = QUARRY_VIEW_KEY,
        [VIEW_SQL_COUNT] = QUARRY_VIEW_COUNT,
        [VIEW_SQL_VALUE] = QUARRY_VIEW_VALUE,
        [VIEW_SQL_AVG] = QUARRY_VIEW_AVERAGE,
    };
    struct quarry_view_item i = {
        .name =
            arena_printf(&v->arena, "%.*s", SLICE_ARG(buf_slice(&from->name))),
        .type = from->type,
        .source = sources[from->kind],
        .key = (unsigned)from->key,
    };
    if (from->kind != VIEW_SQL_KEY)
        i.value = (struct quarry_view_place){from->table_kind, from->table, 0};
    if (from->kind == VIEW_SQL_AVG)
        i.count = (struct quarry_view_place){"sum", from->table + 1, 0};
    return i;
}

static int take_sql(struct slice text, struct view_items *v, struct err *err)
{
    struct view_sql *sql = NULL;
    int rc = view_sql_parse(text, &sql, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < sql->item_count; i++)
        v->list[v->count++] = item_of(v, &sql->items[i]);
    v->table_count = sql->table_count;
    v->key_count = (unsigned)sql->key_count;
    view_sql_free(sql);
    return 0;
}

STATIC_ASSERT(VIEW_SQL_ITEMS_MAX <= QUARRY_VIEW_ITEMS_MAX,
              "a SELECT's items have room");

int view_items_of(const struct view_settings *s,
                  struct view_items *out,
                  struct err *err)
{
    int rc = 0;
    memset(out, 0, sizeof(*out));
    arena_init(&out->arena);
    out->first_table = -1;
    if (s->items.len)
        rc = parse_items(buf_slice(&s->items), out, err);
    else if (s->sql.len)
        rc = take_sql(buf_slice(&s->sql), out, err);
    for (size_t i = 0; i < out->count; i++)
        if (out->list[i].source == QUARRY_VIEW_KEY)
            out->key_count = MAX_OF(out->key_count, out->list[i].key + 1);
    out->table_count = MAX_OF(out->table_count, 1U);
    return rc;
}

void view_items_close(struct view_items *v)
{
    arena_close(&v->arena);
}

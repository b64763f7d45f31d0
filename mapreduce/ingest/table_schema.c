/* A table's schema as JSON, and a table made of it, so that an export can be
 * imported where the table does not exist yet. */
#include "mapreduce/ingest/table_schema.h"

#include <jansson.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"

static void put_named(struct buf *out, const char *name, struct slice options)
{
    buf_append_str(out, "{\"name\": ");
    text_put_json(out, slice_str(name));
    buf_append_str(out, ", \"options\": ");
    text_put_json(out, options);
    buf_append_byte(out, '}');
}

void table_schema_put(struct buf *out, const struct quarry_table_info *info)
{
    struct buf options = BUF_INIT;
    buf_append_str(out, "{\"quarry_schema\": 1, \"table\": ");
    text_put_json(out, slice_str(info->name));
    buf_append_str(out, ", \"changes\": ");
    text_put_json(out, slice_str(info->changes));
    buf_append_str(out, ",\n \"groups\": [");
    for (size_t i = 0; i < info->group_count; i++) {
        buf_append_str(out, i ? ", " : "");
        put_named(out, info->groups[i].name,
                  slice_str(info->groups[i].options));
    }
    buf_append_str(out, "],\n \"families\": [");
    for (size_t i = 0; i < info->family_count; i++) {
        buf_clear(&options);
        buf_printf(&options, "group=%s", info->families[i].group);
        if (info->families[i].gc[0])
            buf_printf(&options, ",gc=%s", info->families[i].gc);
        buf_append_str(out, i ? ", " : "");
        put_named(out, info->families[i].name, buf_slice(&options));
    }
    buf_append_str(out, "]}\n");
    buf_close(&options);
}

/* --- a table of it ------------------------------------------------------- */

static int no_schema(struct err *err, const char *why)
{
    err_set(err, ERR_INVALID, "no schema of a table: %s", why);
    err_hint(err, "quarry export --with-schema writes them");
    return ERR_INVALID;
}

/* "name" and "options" of element @i of @list; false: they are not there. */
static bool
named_at(const json_t *list, size_t i, const char **name, const char **options)
{
    const json_t *v = json_array_get(list, i);
    *name = json_string_value(json_object_get(v, "name"));
    *options = json_string_value(json_object_get(v, "options"));
    return *name && *options;
}

static int create_by_schema(struct quarry *q,
                            const char *table,
                            const json_t *groups,
                            const json_t *families,
                            const char *changes,
                            struct err *err)
{
    size_t group_count = json_array_size(groups);
    size_t family_count = json_array_size(families);
    struct quarry_group_spec *g = mem_zalloc(group_count + 1, sizeof(*g));
    struct quarry_family_spec *f = mem_zalloc(family_count + 1, sizeof(*f));
    bool ok = true;
    int rc;
    for (size_t i = 0; i < group_count && ok; i++)
        ok = named_at(groups, i, &g[i].name, &g[i].options);
    for (size_t i = 0; i < family_count && ok; i++)
        ok = named_at(families, i, &f[i].name, &f[i].options);
    if (!ok)
        rc = no_schema(err, "a group or family without name and options");
    else if (!changes || strcmp(changes, "off") == 0)
        rc =
            quarry_table_create(q, table, f, family_count, g, group_count, err);
    else
        rc = quarry_table_create_with_changes(q, table, f, family_count, g,
                                              group_count, changes, err);
    mem_free(g);
    mem_free(f);
    return rc;
}

int table_schema_create(struct quarry *q,
                        const char *table,
                        struct slice schema,
                        struct err *err)
{
    json_error_t why;
    json_t *v = json_loadb(schema.data, schema.len, 0, &why);
    const json_t *version = json_object_get(v, "quarry_schema");
    const json_t *families = json_object_get(v, "families");
    int rc;
    if (!v)
        rc = no_schema(err, why.text);
    else if (json_integer_value(version) != 1)
        rc = no_schema(err, "\"quarry_schema\" is not 1");
    else if (!json_is_array(families))
        rc = no_schema(err, "\"families\" is no list");
    else
        rc = create_by_schema(q, table, json_object_get(v, "groups"), families,
                              json_string_value(json_object_get(v, "changes")),
                              err);
    json_decref(v);
    return rc;
}

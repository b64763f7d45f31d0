/* ModifyColumnFamilies. All modifications are made, in order, or none. The
 * store has the rules of garbage collection; types of values are extras of the
 * table, and are written first, so that a failure between the two leaves a type
 * without a family, which nobody sees.
 */
#include <string.h>

#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/table_message.h"
#include "bigtable/gateway/type_message.h"

/* More than a table can have families. */
#define MODIFICATIONS_MAX 4096

struct changes {
    struct quarry_alter *items; /* Owned. */
    char **names;               /* Owned, and so is each. */
    char **options;
    size_t count;  /* Of all three. */
    bool any_drop; /* A family is dropped, with its cells. */
    const struct quarry_table_info *info; /* Borrowed: the table before. */
    struct buf extras; /* Of the table, with the changes so far. */
};

static void close_changes(struct changes *c)
{
    for (size_t i = 0; i < c->count; i++) {
        mem_free(c->names[i]);
        mem_free(c->options[i]);
    }
    mem_free(c->names);
    mem_free(c->options);
    mem_free(c->items);
    buf_close(&c->extras);
}

static size_t count_changes(struct slice request)
{
    struct cursor c = cursor_make(request);
    struct pb_field f;
    size_t count = 0;
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, PB_ModifyColumnFamiliesRequest_modifications);
    return count;
}

static void open_changes(struct changes *c, size_t count)
{
    c->items = mem_zalloc(count, sizeof(*c->items));
    c->names = mem_zalloc(count, sizeof(char *));
    c->options = mem_zalloc(count, sizeof(char *));
}

/* A message Modification. */
struct modification {
    struct slice id;
    enum quarry_alter_kind kind;
    struct slice family; /* ColumnFamily, unless it is dropped. */
    struct slice mask;
};

static int
read_modification(struct slice bytes, struct modification *m, struct err *err)
{
    struct cursor cursor = cursor_make(bytes);
    struct pb_field f;
    bool any = false;
    *m = (struct modification){.id = pb_find(bytes, PB_Modification_id),
                               .family = SLICE_EMPTY,
                               .mask =
                                   pb_find(bytes, PB_Modification_update_mask)};
    while (pb_next(&cursor, &f)) { /* The last field of a oneof counts. */
        if (pb_is_bytes(&f, PB_Modification_create) ||
            pb_is_bytes(&f, PB_Modification_update)) {
            m->kind = f.number == PB_Modification_create ? QUARRY_ADD_FAMILY
                                                         : QUARRY_UPDATE_FAMILY;
            m->family = f.bytes;
            any = true;
        } else if (pb_is_integer(&f, PB_Modification_drop) && f.integer) {
            m->kind = QUARRY_DROP_FAMILY;
            any = true;
        }
    }
    if (cursor.bad)
        return service_bad_request(err);
    return any ? 0
               : err_set(err, ERR_INVALID,
                         "a modification without create, update or drop");
}

static void set_type(struct changes *c, struct slice name, struct slice type)
{
    struct buf next = BUF_INIT;
    table_extras_set_type(buf_slice(&c->extras), name, type, &next);
    buf_close(&c->extras);
    c->extras = next;
}

/* Find out what an update changes. Without a mask that is the rule alone, as
 * the API demands; another type is then refused rather than ignored. */
static int read_mask(const struct changes *c,
                     const struct modification *m,
                     bool *gc_rule,
                     bool *value_type,
                     struct err *err)
{
    struct slice type = pb_find(m->family, PB_ColumnFamily_value_type);
    struct cursor cursor = cursor_make(m->mask);
    struct pb_field f;
    bool any = false;
    *gc_rule = *value_type = false;
    while (pb_next(&cursor, &f)) {
        if (!pb_is_bytes(&f, PB_FieldMask_paths))
            continue;
        any = true;
        if (slice_eq_str(f.bytes, "gc_rule") || slice_eq_str(f.bytes, "gcRule"))
            *gc_rule = true;
        else if (slice_eq_str(f.bytes, "value_type") ||
                 slice_eq_str(f.bytes, "valueType"))
            *value_type = true;
        else
            return err_set(err, ERR_INVALID,
                           "ColumnFamily: \"%.*s\" cannot be updated",
                           SLICE_ARG(slice_sub(f.bytes, 0, 100)));
    }
    if (cursor.bad)
        return service_bad_request(err);
    *gc_rule |= !any;
    if (!any && type.len &&
        !slice_eq(type, table_extras_type(buf_slice(&c->extras), m->id)))
        return err_set(err, ERR_INVALID,
                       "ColumnFamily.value_type: to change it, name it in the "
                       "update mask");
    return 0;
}

/* Fields of the row key's schema and families share one name space. */
static int
check_new_name(const struct changes *c, struct slice name, struct err *err)
{
    struct slice schema =
        pb_find(buf_slice(&c->extras), PB_Table_row_key_schema);
    if (!row_key_schema_has(schema, name))
        return 0;
    return err_set(err, ERR_INVALID,
                   "\"%.*s\" is a field of the table's row_key_schema",
                   SLICE_ARG(name));
}

static void add_item(struct changes *c,
                     const char *name,
                     const struct modification *m,
                     char *options)
{
    c->names[c->count] = mem_strdup(name);
    c->options[c->count] = options;
    c->items[c->count] = (struct quarry_alter){
        .kind = m->kind, .name = c->names[c->count], .options = options};
    c->any_drop |= m->kind == QUARRY_DROP_FAMILY;
    c->count++;
}

/* ERR_NOTFOUND unless there is a family @name before or among the changes. */
static int
check_family(const struct changes *c, const char *name, struct err *err)
{
    for (size_t i = 0; i < c->info->family_count; i++)
        if (strcmp(c->info->families[i].name, name) == 0)
            return 0;
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0)
            return 0;
    return err_set(err, ERR_NOTFOUND, "there is no column family \"%s\"", name);
}

/* A family is an aggregate, or none, as it was created. */
static int check_same_aggregate(const struct changes *c,
                                const struct modification *m,
                                struct err *err)
{
    const char *aggregate;
    int rc =
        type_message_aggregate(pb_find(m->family, PB_ColumnFamily_value_type),
                               "ColumnFamily.value_type", &aggregate, err);
    for (size_t i = 0; rc == 0 && i < c->info->family_count; i++)
        if (slice_eq_str(m->id, c->info->families[i].name) &&
            strcmp(aggregate, c->info->families[i].aggregate) != 0)
            rc = err_set(err, ERR_INVALID,
                         "ColumnFamily.value_type: family \"%.*s\" %s an "
                         "aggregate. Immutable fields "
                         "'value_type.aggregate_type.*' cannot be updated",
                         SLICE_ARG(m->id),
                         *c->info->families[i].aggregate ? "is" : "is not");
    return rc;
}

static int add_change(struct changes *c, struct slice bytes, struct err *err)
{
    char name[REQUEST_FAMILY_BYTES_MAX + 1];
    struct modification m;
    char *options = NULL;
    bool gc_rule = true;
    bool value_type = true;
    int rc = read_modification(bytes, &m, err);
    if (rc == 0)
        rc = request_family(m.id, name, err);
    if (rc == 0 && m.kind != QUARRY_DROP_FAMILY)
        rc = family_options(m.family, &options, err);
    if (rc == 0 && m.kind == QUARRY_ADD_FAMILY)
        rc = check_new_name(c, m.id, err);
    if (rc == 0 && m.kind == QUARRY_UPDATE_FAMILY)
        rc = read_mask(c, &m, &gc_rule, &value_type, err);
    if (rc == 0 && m.kind == QUARRY_UPDATE_FAMILY && value_type)
        rc = check_same_aggregate(c, &m, err);
    if (rc == 0 && !gc_rule)
        rc = check_family(c, name, err);
    if (rc == 0 && value_type)
        set_type(c, m.id, pb_find(m.family, PB_ColumnFamily_value_type));
    if (rc == 0 && gc_rule)
        add_item(c, name, &m, options);
    else
        mem_free(options);
    return rc;
}

static int
admin_families_parse(struct changes *c, struct slice request, struct err *err)
{
    struct cursor cursor = cursor_make(request);
    size_t count = count_changes(request);
    struct pb_field f;
    int rc = 0;
    if (count == 0 || count > MODIFICATIONS_MAX)
        return err_set(err, ERR_INVALID, "expected 1 to %d modifications",
                       MODIFICATIONS_MAX);
    open_changes(c, count);
    while (rc == 0 && pb_next(&cursor, &f))
        if (pb_is_bytes(&f, PB_ModifyColumnFamiliesRequest_modifications))
            rc = add_change(c, f.bytes, err);
    if (rc == 0 && cursor.bad)
        rc = service_bad_request(err);
    return rc;
}

/* Make the changes: the extras first, which are restored if the store refuses
 * the rest. */
static int make_changes(struct gateway *g,
                        const struct resource_name *name,
                        const char *store_name,
                        const struct changes *c,
                        struct slice old,
                        bool had,
                        struct err *err)
{
    bool same = slice_eq(old, buf_slice(&c->extras));
    int rc = same ? 0
                  : table_extras_replace(g, name, old, had,
                                         buf_slice(&c->extras), err);
    if (rc || c->count == 0)
        return rc;
    rc = quarry_table_alter(g->quarry, store_name, c->items, c->count, err);
    if (rc && !same) {
        /* The types of unchanged or missing families stay: harmless. */
        IGNORE_RESULT(table_extras_replace(g, name, buf_slice(&c->extras), true,
                                           old, NULL));
    }
    return rc;
}

static int modify_families(struct gateway *g,
                           struct grpc_call *call,
                           const struct resource_name *name,
                           const char *store_name,
                           struct err *err)
{
    struct slice request = grpc_request(call);
    struct changes c = {.items = NULL, .extras = BUF_INIT};
    struct quarry_table_info *info;
    struct buf old = BUF_INIT;
    bool had;
    int rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    c.info = info;
    rc = table_extras_get(g, name, &old, &had, err);
    buf_append_slice(&c.extras, buf_slice(&old));
    if (rc == 0)
        rc = admin_families_parse(&c, request, err);
    if (rc == 0 && c.any_drop)
        rc =
            table_check_unprotected(g, call, name, "drop a column family", err);
    if (rc == 0)
        rc = make_changes(g, name, store_name, &c, buf_slice(&old), had, err);
    close_changes(&c);
    quarry_table_info_free(info);
    buf_close(&old);
    return rc;
}

int admin_modify_column_families(void *ctx,
                                 struct grpc_call *call,
                                 struct err *err)
{
    struct gateway *g = ctx;
    struct slice text =
        pb_find(grpc_request(call), PB_ModifyColumnFamiliesRequest_name);
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    struct buf *b = grpc_scratch(call);
    int rc = service_store_name(g, text, store_name, err);
    if (rc == 0)
        rc = resource_name_parse_kind(text, "tables", &name, err);
    if (rc == 0)
        rc = table_message_put(g, &name, store_name, PB_Table_View_NAME_ONLY, b,
                               err);
    if (rc == 0)
        rc = modify_families(g, call, &name, store_name, err);
    if (rc)
        return rc;
    b = grpc_scratch(call);
    rc = table_message_put(g, &name, store_name, PB_Table_View_SCHEMA_VIEW, b,
                           err);
    return rc ? rc : grpc_send(call, b, err);
}

/* A table's extras in the registry: the fields of the message Table for which
 * the store has no place (table_message.h).
 */
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"

int table_extras_get(struct gateway *g,
                     const struct resource_name *name,
                     struct buf *out,
                     bool *found,
                     struct err *err)
{
    struct buf key = BUF_INIT;
    bool any;
    int rc;
    admin_key(&key, name->instance, "tables", name->id);
    rc = registry_get(g->own, buf_slice(&key), out, &any, err);
    if (found)
        *found = rc == 0 && any;
    buf_close(&key);
    return rc;
}

int table_extras_put(struct gateway *g,
                     const struct resource_name *name,
                     struct slice extras,
                     struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;
    admin_key(&key, name->instance, "tables", name->id);
    rc = extras.len ? registry_put(g->quarry, buf_slice(&key), extras, err)
                    : registry_remove(g->quarry, buf_slice(&key), err);
    buf_close(&key);
    return rc;
}

int table_extras_replace(struct gateway *g,
                         const struct resource_name *name,
                         struct slice old,
                         bool had,
                         struct slice extras,
                         struct err *err)
{
    struct buf key = BUF_INIT;
    int rc;
    admin_key(&key, name->instance, "tables", name->id);
    rc = registry_replace(g->quarry, buf_slice(&key), old, had, extras, err);
    buf_close(&key);
    return rc;
}

int table_schema_extras(struct gateway *g,
                        const struct resource_name *name,
                        struct buf *out,
                        struct err *err)
{
    struct buf all = BUF_INIT;
    int rc = table_extras_get(g, name, &all, NULL, err);
    pb_copy_fields(out, buf_slice(&all), PB_Table_column_families, true);
    pb_copy_fields(out, buf_slice(&all), PB_Table_row_key_schema, true);
    buf_close(&all);
    return rc;
}

int table_is_protected(struct gateway *g,
                       const struct resource_name *name,
                       bool *is_protected,
                       struct err *err)
{
    struct buf extras = BUF_INIT;
    int rc = table_extras_get(g, name, &extras, NULL, err);
    *is_protected =
        pb_find_integer(buf_slice(&extras), PB_Table_deletion_protection) != 0;
    buf_close(&extras);
    return rc;
}

int table_check_unprotected(struct gateway *g,
                            struct grpc_call *call,
                            const struct resource_name *name,
                            const char *what,
                            struct err *err)
{
    bool is_protected;
    int rc = table_is_protected(g, name, &is_protected, err);
    if (rc || !is_protected)
        return rc;
    grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    return err_set(err, ERR_DENIED,
                   "%s: table %.*s is protected from deletion (unset its "
                   "deletion_protection first)",
                   what, SLICE_ARG(name->id));
}

struct slice table_extras_type(struct slice extras, struct slice name)
{
    struct cursor c = cursor_make(extras);
    struct pb_field f;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_Table_column_families) &&
            slice_eq(pb_find(f.bytes, PB_ColumnFamiliesEntry_key), name))
            return pb_find(pb_find(f.bytes, PB_ColumnFamiliesEntry_value),
                           PB_ColumnFamily_value_type);
    return SLICE_EMPTY;
}

void table_extras_set_type(struct slice extras,
                           struct slice name,
                           struct slice type,
                           struct buf *out)
{
    struct cursor c = cursor_make(extras);
    const char *begin = c.p;
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (!pb_is_bytes(&f, PB_Table_column_families) ||
            !slice_eq(pb_find(f.bytes, PB_ColumnFamiliesEntry_key), name))
            buf_append(out, begin, (size_t)(c.p - begin));
        begin = c.p;
    }
    if (type.len) {
        size_t entry = pb_open(out, PB_Table_column_families);
        size_t family;
        pb_put_bytes(out, PB_ColumnFamiliesEntry_key, name);
        family = pb_open(out, PB_ColumnFamiliesEntry_value);
        pb_put_bytes(out, PB_ColumnFamily_value_type, type);
        pb_close(out, family);
        pb_close(out, entry);
    }
}

/* The messages Table and ColumnFamily: made of what the store says of a table
 * and of its extras, and taken apart when a table is created.
 */
#include "bigtable/gateway/table_message.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/change_config.h"
#include "bigtable/gateway/gc_message.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/type_message.h"

static const struct message_rule family_rules[] = {
    [PB_ColumnFamily_gc_rule] = {.rule = FIELD_KEPT},
    [PB_ColumnFamily_stats] = {.rule = FIELD_OUTPUT},
    [PB_ColumnFamily_value_type] = {.rule = FIELD_KEPT},
};

static const struct message_type table_family_type =
    MESSAGE_TYPE(ColumnFamily, family_rules);

/* --- to the message ------------------------------------------------------ */

static int put_family(struct buf *out,
                      const struct quarry_family_info *family,
                      struct slice type,
                      struct err *err)
{
    size_t entry = pb_open(out, PB_Table_column_families);
    size_t value;
    size_t rule;
    int rc = 0;
    pb_put_bytes(out, PB_ColumnFamiliesEntry_key, slice_str(family->name));
    value = pb_open(out, PB_ColumnFamiliesEntry_value);
    if (*family->gc) {
        rule = pb_open(out, PB_ColumnFamily_gc_rule);
        rc = gc_message_from_text(slice_str(family->gc), out, err);
        pb_close(out, rule);
    }
    if (*family->aggregate) {
        size_t at = pb_open(out, PB_ColumnFamily_value_type);
        type_message_put_aggregate(out, family->aggregate, type);
        pb_close(out, at);
    } else if (type.len) {
        pb_put_bytes(out, PB_ColumnFamily_value_type, type);
    }
    pb_close(out, value);
    pb_close(out, entry);
    return rc;
}

static int put_schema(struct gateway *g,
                      const struct resource_name *name,
                      const char *store_name,
                      struct buf *out,
                      struct err *err)
{
    struct quarry_table_info *info;
    struct buf extras = BUF_INIT;
    int rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    rc = table_extras_get(g, name, &extras, NULL, err);
    for (size_t i = 0; i < info->family_count && rc == 0; i++)
        rc = put_family(out, &info->families[i],
                        table_extras_type(buf_slice(&extras),
                                          slice_str(info->families[i].name)),
                        err);
    pb_put_integer(out, PB_Table_granularity,
                   PB_Table_TimestampGranularity_MILLIS);
    pb_copy_fields(out, buf_slice(&extras), PB_Table_restore_info, true);
    change_config_put(out, info->changes);
    pb_copy_fields(out, buf_slice(&extras), PB_Table_deletion_protection, true);
    pb_copy_fields(out, buf_slice(&extras), PB_Table_automated_backup_policy,
                   true);
    pb_copy_fields(out, buf_slice(&extras), PB_Table_tiered_storage_config,
                   true);
    pb_copy_fields(out, buf_slice(&extras), PB_Table_row_key_schema, true);
    quarry_table_info_free(info);
    buf_close(&extras);
    return rc;
}

static void put_state(void *ctx, struct slice id, struct slice message)
{
    struct buf *out = ctx;
    size_t entry = pb_open(out, PB_Table_cluster_states);
    size_t state;
    size_t info;
    (void)message;
    pb_put_bytes(out, PB_ClusterStatesEntry_key, id);
    state = pb_open(out, PB_ClusterStatesEntry_value);
    pb_put_integer(out, PB_ClusterState_replication_state,
                   PB_ClusterState_ReplicationState_READY);
    /* That is: with no key of the customer's. */
    info = pb_open(out, PB_ClusterState_encryption_info);
    pb_put_integer(out, PB_EncryptionInfo_encryption_type,
                   PB_EncryptionInfo_EncryptionType_GOOGLE_DEFAULT_ENCRYPTION);
    pb_close(out, info);
    pb_close(out, state);
    pb_close(out, entry);
}

static int
check_exists(struct gateway *g, const char *store_name, struct err *e)
{
    struct quarry_table_info *info;
    int rc = service_describe(g, store_name, &info, e);
    if (rc == 0)
        quarry_table_info_free(info);
    return rc;
}

int table_message_put(struct gateway *g,
                      const struct resource_name *name,
                      const char *store_name,
                      uint64_t view,
                      struct buf *out,
                      struct err *err)
{
    bool schema = view == PB_Table_View_VIEW_UNSPECIFIED ||
                  view == PB_Table_View_SCHEMA_VIEW ||
                  view == PB_Table_View_FULL;
    bool states = view == PB_Table_View_REPLICATION_VIEW ||
                  view == PB_Table_View_ENCRYPTION_VIEW ||
                  view == PB_Table_View_FULL;
    int rc;
    admin_put_name(out, PB_Table_name, name->project, name->instance, "tables",
                   name->id);
    if (view == PB_Table_View_NAME_ONLY)
        return check_exists(g, store_name, err);
    rc = schema ? put_schema(g, name, store_name, out, err)
                : check_exists(g, store_name, err);
    if (rc == 0 && states)
        rc = admin_each_cluster(g, name->instance, put_state, out, err);
    return rc;
}

/* --- from the message ---------------------------------------------------- */

int family_options(struct slice family, char **out, struct err *err)
{
    struct buf text = BUF_INIT;
    struct buf settled = BUF_INIT;
    struct slice type = pb_find(family, PB_ColumnFamily_value_type);
    const char *aggregate = "";
    size_t empty;
    int rc = message_settle(&table_family_type, family, &settled, err);
    *out = NULL;
    buf_close(&settled);
    if (rc == 0)
        rc = type_message_aggregate(type, "ColumnFamily.value_type", &aggregate,
                                    err);
    if (rc == 0 && type.len && !*aggregate)
        rc = type_message_check(type, "ColumnFamily.value_type", err);
    if (rc)
        return rc;
    buf_append_str(&text, "gc=");
    empty = text.len;
    rc = gc_message_to_text(pb_find(family, PB_ColumnFamily_gc_rule), &text,
                            err);
    if (text.len == empty)
        buf_append_str(&text, "none");
    if (*aggregate)
        buf_printf(&text, ",aggregate=%s", aggregate);
    *out = buf_take(&text);
    return rc;
}

static int
add_family(struct table_families *f, struct slice entry, struct err *e)
{
    char name[REQUEST_FAMILY_BYTES_MAX + 1];
    struct quarry_family_spec *spec;
    char *options;
    struct slice key = pb_find(entry, PB_ColumnFamiliesEntry_key);
    int rc = request_family(key, name, NULL);
    if (rc)
        return err_set(e, ERR_INVALID, "\"%.*s\" cannot name a column family",
                       SLICE_ARG(slice_sub(key, 0, 80)));
    rc = family_options(pb_find(entry, PB_ColumnFamiliesEntry_value), &options,
                        e);
    f->specs = mem_realloc(f->specs, (f->count + 1) * sizeof(*f->specs));
    spec = &f->specs[f->count++];
    spec->name = mem_strdup(name);
    spec->options = options;
    return rc;
}

int table_families_parse(struct slice table,
                         struct table_families *out,
                         struct err *err)
{
    struct cursor c = cursor_make(table);
    struct pb_field f;
    int rc = 0;
    *out = (struct table_families){NULL, 0};
    while (rc == 0 && pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_Table_column_families))
            rc = add_family(out, f.bytes, err);
    if (rc == 0 && c.bad)
        rc = service_bad_request(err);
    return rc;
}

void table_families_close(struct table_families *f)
{
    for (size_t i = 0; i < f->count; i++) {
        char *texts[2];
        /* add_family() made them; the store's type has them const. */
        memcpy(&texts[0], &f->specs[i].name, sizeof(char *));
        memcpy(&texts[1], &f->specs[i].options, sizeof(char *));
        mem_free(texts[0]);
        mem_free(texts[1]);
    }
    mem_free(f->specs);
}

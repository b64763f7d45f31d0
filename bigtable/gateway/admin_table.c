/* The table admin API: tables. A table of the API is a table of the store under
 * the name of its instance and itself (resource_names.h), and an entry of the
 * registry for what the store has no place for (table_message.h).
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin_undelete.h"
#include "bigtable/gateway/admin_view.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/backup_schedule.h"
#include "bigtable/gateway/change_config.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/kept_view.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"
#include "bigtable/gateway/type_message.h"
#include "bigtable/gateway/workers.h"

/* The limit of the real service. */
#define SPLITS_MAX      100
#define TIER_AGE_US_MIN (INT64_C(30) * 24 * 3600 * 1000000)

static const struct message_rule table_rules[] = {
    [PB_Table_name] = {.rule = FIELD_OUTPUT},
    [PB_Table_cluster_states] = {.rule = FIELD_OUTPUT},
    /* CreateTable takes them out before these rules are applied. */
    [PB_Table_column_families] = {.rule = FIELD_REFUSED},
    [PB_Table_granularity] = {.rule = FIELD_OUTPUT},
    [PB_Table_restore_info] = {.rule = FIELD_OUTPUT},
    /* Kept by the store: taken out before the rest is put. */
    [PB_Table_change_stream_config] = {.rule = FIELD_KEPT,
                                       .type = &change_config_type},
    [PB_Table_deletion_protection] = {.rule = FIELD_KEPT},
    [PB_Table_stats] = {.rule = FIELD_OUTPUT},
    [PB_Table_automated_backup_policy] = {.rule = FIELD_KEPT,
                                          .type = &backup_policy_type},
    [PB_Table_tiered_storage_config] = {.rule = FIELD_KEPT},
    [PB_Table_row_key_schema] = {.rule = FIELD_KEPT},
};

static const struct message_type table_type = MESSAGE_TYPE(Table, table_rules);

/* --- names --------------------------------------------------------------- */

static int parse_table(struct gateway *g,
                       struct slice text,
                       struct resource_name *name,
                       char store_name[STORE_NAME_BYTES],
                       struct err *err)
{
    int rc = resource_name_parse_kind(text, "tables", name, err);
    return rc ? rc
              : store_name_make(g->home, name->instance, name->id, store_name,
                                err);
}

static int not_found(struct slice name, struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "table not found: %.*s",
                   SLICE_ARG(slice_sub(name, 0, 200)));
}

static int reply_table(struct gateway *g,
                       struct grpc_call *call,
                       const struct resource_name *name,
                       const char *store_name,
                       uint64_t view,
                       struct err *err)
{
    struct buf *b = grpc_scratch(call);
    int rc = table_message_put(g, name, store_name, view, b, err);
    return rc ? rc : grpc_send(call, b, err);
}

/* --- create -------------------------------------------------------------- */

static int admin_table_split(struct gateway *g,
                             const char *store_name,
                             struct slice request,
                             struct err *err)
{
    struct cursor c = cursor_make(request);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        struct slice key = pb_find(f.bytes, PB_Split_key);
        if (pb_is_bytes(&f, PB_CreateTableRequest_initial_splits) && key.len)
            rc = quarry_table_split(g->quarry, store_name, key, err);
        if (rc == ERR_EXISTS) /* Given twice. */
            rc = 0;
    }
    return rc;
}

static int check_splits(struct slice request, struct err *err)
{
    struct cursor c = cursor_make(request);
    struct pb_field f;
    size_t count = 0;
    while (pb_next(&c, &f))
        count += pb_is_bytes(&f, PB_CreateTableRequest_initial_splits);
    if (count <= SPLITS_MAX)
        return 0;
    return err_set(err, ERR_INVALID, "more than %d initial splits", SPLITS_MAX);
}

static bool is_new_family(void *ctx, struct slice name)
{
    const struct table_families *families = ctx;
    for (size_t i = 0; i < families->count; i++)
        if (slice_eq_str(name, families->specs[i].name))
            return true;
    return false;
}

static void add_types(struct slice table, struct buf *extras)
{
    struct cursor c = cursor_make(table);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        struct buf next = BUF_INIT;
        if (!pb_is_bytes(&f, PB_Table_column_families))
            continue;
        table_extras_set_type(
            buf_slice(extras), pb_find(f.bytes, PB_ColumnFamiliesEntry_key),
            pb_find(pb_find(f.bytes, PB_ColumnFamiliesEntry_value),
                    PB_ColumnFamily_value_type),
            &next);
        buf_close(extras);
        *extras = next;
    }
}

/* All rows are on one kind of storage: the setting is kept, for programs that
 * manage it, and has no effect. */
static int check_tiers(struct slice table, struct err *err)
{
    struct slice rule = pb_find(pb_find(table, PB_Table_tiered_storage_config),
                                PB_TieredStorageConfig_infrequent_access);
    struct slice age =
        pb_find(rule, PB_TieredStorageRule_include_if_older_than);
    int64_t us = 0;
    int rc;
    if (!pb_has_field(table, PB_Table_tiered_storage_config))
        return 0;
    rc = service_time_us(age,
                         "tiered_storage_config.infrequent_access."
                         "include_if_older_than",
                         &us, err);
    if (rc == 0 && us < TIER_AGE_US_MIN)
        rc = err_set(err, ERR_INVALID,
                     "tiered_storage_config.infrequent_access."
                     "include_if_older_than must be at least 30 days");
    return rc;
}

/* Append the extras of @table, a client's message. */
static int read_extras(struct slice table,
                       struct table_families *families,
                       struct buf *out,
                       struct err *err)
{
    struct buf rest = BUF_INIT;
    struct buf settled = BUF_INIT;
    struct slice schema = pb_find(table, PB_Table_row_key_schema);
    int rc;
    pb_copy_fields(&rest, table, PB_Table_column_families, false);
    rc = message_settle(&table_type, buf_slice(&rest), &settled, err);
    pb_copy_fields(out, buf_slice(&settled), PB_Table_change_stream_config,
                   false);
    buf_close(&settled);
    buf_close(&rest);
    if (rc == 0 && pb_find_integer(table, PB_Table_granularity) >
                       PB_Table_TimestampGranularity_MILLIS)
        rc = err_set(err, ERR_INVALID,
                     "Table.granularity: timestamps are in MILLIS here");
    if (rc == 0 && schema.len)
        rc = row_key_schema_check(schema, is_new_family, families, err);
    if (rc == 0)
        rc = backup_policy_check(buf_slice(out), err);
    if (rc == 0)
        rc = check_tiers(table, err);
    add_types(table, out);
    return rc;
}

static int make_table(struct gateway *g,
                      const struct resource_name *name,
                      const char *store_name,
                      struct slice request,
                      struct err *err)
{
    struct slice table = pb_find(request, PB_CreateTableRequest_table);
    struct table_families families;
    struct buf extras = BUF_INIT;
    struct buf changes = BUF_INIT;
    int rc = table_families_parse(table, &families, err);
    if (rc == 0)
        rc = check_splits(request, err);
    if (rc == 0)
        rc = read_extras(table, &families, &extras, err);
    if (rc == 0)
        rc = change_config_get(table, "off", &changes, err);
    if (rc == 0)
        rc = quarry_table_create_with_changes(g->quarry, store_name,
                                              families.specs, families.count,
                                              NULL, 0, buf_cstr(&changes), err);
    table_families_close(&families);
    buf_close(&changes);
    if (rc)
        goto out;
    rc = admin_table_split(g, store_name, request, err);
    if (rc == 0)
        rc = table_extras_put(g, name, buf_slice(&extras), err);
    if (rc == 0)
        rc = backup_policy_note(g, name, SLICE_EMPTY, buf_slice(&extras), err);
    if (rc) /* All or nothing. */
        (void)!quarry_table_drop(g->quarry, store_name, NULL);
out:
    buf_close(&extras);
    return rc;
}

int admin_create_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    int rc = pb_is_message(request) ? 0 : service_bad_request(err);
    if (rc == 0)
        rc = resource_name_parse_kind(
            pb_find(request, PB_CreateTableRequest_parent), "", &name, err);
    if (rc)
        return rc;
    name.id = pb_find(request, PB_CreateTableRequest_table_id);
    rc = store_name_make(g->home, name.instance, name.id, store_name, err);
    if (rc == 0)
        rc = make_table(g, &name, store_name, request, err);
    return rc ? rc
              : reply_table(g, call, &name, store_name,
                            PB_Table_View_SCHEMA_VIEW, err);
}

/* --- list and get -------------------------------------------------------- */

static int put_tables(struct gateway *g,
                      const struct resource_name *parent,
                      struct slice request,
                      struct buf *out,
                      struct err *err)
{
    uint64_t view = pb_find_integer(request, PB_ListTablesRequest_view);
    struct slice after = pb_find(request, PB_ListTablesRequest_page_token);
    uint64_t left = pb_find_integer(request, PB_ListTablesRequest_page_size);
    char **names;
    size_t count;
    struct slice last = SLICE_EMPTY;
    int rc = quarry_table_list(g->quarry, &names, &count, err);
    if (rc)
        return rc;
    left = left == 0 ? UINT64_MAX : left;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct resource_name name = *parent;
        size_t before = out->len;
        size_t opened;
        if (strcmp(names[i], GATEWAY_TABLE) == 0 ||
            !store_name_id(g->home, parent->instance, names[i], &name.id) ||
            slice_cmp(name.id, after) <= 0)
            continue;
        if (left-- == 0) {
            pb_put_bytes(out, PB_ListTablesResponse_next_page_token, last);
            break;
        }
        last = name.id;
        opened = pb_open(out, PB_ListTablesResponse_tables);
        rc = table_message_put(g, &name, names[i],
                               view ? view : PB_Table_View_NAME_ONLY, out, err);
        pb_close(out, opened);
        if (rc == ERR_NOTFOUND) { /* Dropped meanwhile. */
            buf_truncate(out, before);
            rc = 0;
        }
    }
    quarry_names_free(names, count);
    return rc;
}

int admin_list_tables(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct buf *b = grpc_scratch(call);
    struct resource_name parent;
    int rc = resource_name_parse_kind(
        pb_find(request, PB_ListTablesRequest_parent), "", &parent, err);
    if (rc == 0 &&
        pb_find_integer(request, PB_ListTablesRequest_page_size) > INT32_MAX)
        rc = err_set(err, ERR_INVALID, "page_size must not be negative");
    if (rc == 0)
        rc = put_tables(g, &parent, request, b, err);
    return rc ? rc : grpc_send(call, b, err);
}

int admin_get_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    int rc = parse_table(g, pb_find(request, PB_GetTableRequest_name), &name,
                         store_name, err);
    return rc ? rc
              : reply_table(g, call, &name, store_name,
                            pb_find_integer(request, PB_GetTableRequest_view),
                            err);
}

/* --- update and delete --------------------------------------------------- */

static bool is_family(void *ctx, struct slice name)
{
    const struct quarry_table_info *info = ctx;
    for (size_t i = 0; i < info->family_count; i++)
        if (slice_eq_str(name, info->families[i].name))
            return true;
    return false;
}

/* ERR_INVALID unless the schema of row keys may change from @old to @fresh: it
 * may be set once, and removed by a request with ignore_warnings. */
static int check_row_key_schema(struct gateway *g,
                                const char *store_name,
                                struct slice old,
                                struct slice fresh,
                                bool ignore_warnings,
                                struct err *err)
{
    struct quarry_table_info *info;
    int rc;
    if (slice_eq(old, fresh))
        return 0;
    if (fresh.len == 0 && ignore_warnings)
        return 0;
    if (fresh.len == 0)
        return err_set(err, ERR_INVALID,
                       "row_key_schema: removing it needs ignore_warnings");
    if (old.len)
        return err_set(err, ERR_INVALID,
                       "row_key_schema: it cannot be changed (remove it "
                       "first)");
    rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    rc = row_key_schema_check(fresh, is_family, info, err);
    quarry_table_info_free(info);
    return rc;
}

/* @changes is the store's setting now. */
static int update_extras(struct gateway *g,
                         const struct resource_name *name,
                         const char *store_name,
                         const char *changes,
                         struct slice request,
                         struct err *err)
{
    struct buf old = BUF_INIT;
    struct buf all = BUF_INIT; /* With what the store keeps. */
    struct buf merged_all = BUF_INIT;
    struct buf merged = BUF_INIT;
    bool found;
    int rc = table_extras_get(g, name, &old, &found, err);
    buf_append_slice(&all, buf_slice(&old));
    change_config_put(&all, changes);
    if (rc == 0)
        rc = message_merge(&table_type, buf_slice(&all),
                           pb_find(request, PB_UpdateTableRequest_table),
                           pb_find(request, PB_UpdateTableRequest_update_mask),
                           &merged_all, err);
    pb_copy_fields(&merged, buf_slice(&merged_all),
                   PB_Table_change_stream_config, false);
    if (rc == 0)
        rc = check_row_key_schema(
            g, store_name, pb_find(buf_slice(&old), PB_Table_row_key_schema),
            pb_find(buf_slice(&merged), PB_Table_row_key_schema),
            pb_find_integer(request, PB_UpdateTableRequest_ignore_warnings) !=
                0,
            err);
    if (rc == 0)
        rc = backup_policy_check(buf_slice(&merged), err);
    if (rc == 0)
        rc = check_tiers(buf_slice(&merged), err);
    if (rc == 0 &&
        !slice_eq(
            pb_find(buf_slice(&all), PB_Table_change_stream_config),
            pb_find(buf_slice(&merged_all), PB_Table_change_stream_config)))
        rc = change_config_apply(g, store_name, changes, buf_slice(&merged_all),
                                 err);
    if (rc == 0 && !slice_eq(buf_slice(&old), buf_slice(&merged)))
        rc = table_extras_replace(g, name, buf_slice(&old), found,
                                  buf_slice(&merged), err);
    if (rc == 0)
        rc = backup_policy_note(g, name, buf_slice(&old), buf_slice(&merged),
                                err);
    buf_close(&merged);
    buf_close(&merged_all);
    buf_close(&all);
    buf_close(&old);
    return rc;
}

int admin_update_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice table = pb_find(request, PB_UpdateTableRequest_table);
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    struct quarry_table_info *info;
    struct buf message = BUF_INIT;
    int rc =
        parse_table(g, pb_find(table, PB_Table_name), &name, store_name, err);
    if (rc == 0)
        rc = service_describe(g, store_name, &info, err);
    if (rc)
        return rc;
    rc = update_extras(g, &name, store_name, info->changes, request, err);
    quarry_table_info_free(info);
    if (rc == 0)
        rc = table_message_put(g, &name, store_name, PB_Table_View_SCHEMA_VIEW,
                               &message, err);
    if (rc == 0)
        rc = admin_reply_operation(g, call, "Table", "UpdateTableMetadata",
                                   buf_slice(&message), err);
    buf_close(&message);
    return rc;
}

int admin_delete_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice text = pb_find(grpc_request(call), PB_DeleteTableRequest_name);
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    struct buf key = BUF_INIT;
    int rc = parse_table(g, text, &name, store_name, err);
    if (rc == 0)
        rc = table_check_unprotected(g, call, &name, "delete the table", err);
    if (rc == 0) {
        rc = kept_view_check_none(g, store_name, err);
        if (rc == ERR_DENIED)
            grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    }
    if (rc == 0)
        rc = change_config_check_off(g, call, store_name, err);
    if (rc)
        return rc;
    admin_undelete_keep(g, &name, store_name);
    rc = quarry_table_drop(g->quarry, store_name, err);
    if (rc == ERR_NOTFOUND) {
        *err = ERR_INIT;
        return not_found(text, err);
    }
    admin_key(&key, name.instance, "tables", name.id);
    if (rc == 0)
        rc = registry_remove(g->own, buf_slice(&key), err);
    if (rc == 0)
        rc = admin_views_forget(g, name.instance, name.id, err);
    buf_close(&key);
    return rc ? rc : service_reply_empty(call, err);
}

/* --- rows ---------------------------------------------------------------- */

/* Rows of a protected table may be dropped: protection covers the table, its
 * families and its instance, not the data. */

/* Append the first key after all that begin with @prefix; nothing if there is
 * none. */
static void prefix_end(struct slice prefix, struct buf *out)
{
    buf_append_slice(out, prefix);
    while (out->len && (unsigned char)out->data[out->len - 1] == 0xff)
        out->len--;
    if (out->len)
        out->data[out->len - 1]++;
}

struct drop {
    struct gateway *gateway;
    const char *store_name;
    struct slice start;
    struct slice end;
    int rc;
    struct err *err;
};

static void run_drop(void *arg)
{
    struct drop *d = arg;
    d->rc = quarry_table_drop_rows(d->gateway->quarry, d->store_name, d->start,
                                   d->end, d->err);
    if (d->rc == 0) /* Dropped ranges are not told as changes. */
        d->rc = kept_view_refresh(d->gateway, d->store_name, d->err);
}

int admin_drop_row_range(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice prefix =
        pb_find(request, PB_DropRowRangeRequest_row_key_prefix);
    bool all =
        pb_find_integer(request,
                        PB_DropRowRangeRequest_delete_all_data_from_table) != 0;
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    struct buf end = BUF_INIT;
    struct drop d = {.gateway = g, .store_name = store_name, .err = err};
    int rc = parse_table(g, pb_find(request, PB_DropRowRangeRequest_name),
                         &name, store_name, err);
    if (rc == 0 && !all && prefix.len == 0)
        rc = err_set(err, ERR_INVALID, "missing row key prefix");
    if (rc)
        return rc;
    if (!all)
        prefix_end(prefix, &end);
    d.start = all ? SLICE_EMPTY : prefix;
    d.end = buf_slice(&end);
    workers_run(g->workers, run_drop, &d);
    buf_close(&end);
    if (d.rc == ERR_NOTFOUND) {
        *err = ERR_INIT;
        return not_found(pb_find(request, PB_DropRowRangeRequest_name), err);
    }
    return d.rc ? d.rc : service_reply_empty(call, err);
}

/* --- consistency --------------------------------------------------------- */

/* One copy of the data is served, so everything written is visible at once: a
 * token names its table and nothing else. */
#define TOKEN_PREFIX "consistent."

static int check_table(struct gateway *g,
                       struct slice text,
                       struct resource_name *name,
                       struct err *err)
{
    struct buf ignored = BUF_INIT;
    char store_name[STORE_NAME_BYTES];
    int rc = parse_table(g, text, name, store_name, err);
    if (rc == 0)
        rc = table_message_put(g, name, store_name, PB_Table_View_NAME_ONLY,
                               &ignored, err);
    buf_close(&ignored);
    return rc;
}

int admin_generate_consistency_token(void *ctx,
                                     struct grpc_call *call,
                                     struct err *err)
{
    struct resource_name name;
    struct buf token = BUF_INIT;
    struct buf *b;
    int rc = check_table(
        ctx,
        pb_find(grpc_request(call), PB_GenerateConsistencyTokenRequest_name),
        &name, err);
    if (rc)
        return rc;
    buf_printf(&token, TOKEN_PREFIX "%.*s", SLICE_ARG(name.id));
    b = grpc_scratch(call);
    pb_put_bytes(b, PB_GenerateConsistencyTokenResponse_consistency_token,
                 buf_slice(&token));
    buf_close(&token);
    return grpc_send(call, b, err);
}

int admin_check_consistency(void *ctx, struct grpc_call *call, struct err *err)
{
    struct resource_name name;
    struct slice token = pb_find(grpc_request(call),
                                 PB_CheckConsistencyRequest_consistency_token);
    struct slice prefix = SLICE_LIT(TOKEN_PREFIX);
    struct buf *b;
    int rc = check_table(
        ctx, pb_find(grpc_request(call), PB_CheckConsistencyRequest_name),
        &name, err);
    if (rc)
        return rc;
    if (!slice_starts_with(token, prefix) ||
        !slice_eq(slice_sub(token, prefix.len, token.len), name.id))
        return err_set(err, ERR_INVALID, "not a token of this table");
    b = grpc_scratch(call);
    pb_put_integer(b, PB_CheckConsistencyResponse_consistent, 1);
    return grpc_send(call, b, err);
}

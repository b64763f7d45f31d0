/* The messages Table and ColumnFamily.
 *
 *     Table          name 1, cluster_states 2 (map), column_families 3 (map),
 *                    granularity 4, restore_info 6, deletion_protection 9,
 *                    row_key_schema 15
 *     ColumnFamily   gc_rule 1, stats 2, value_type 3
 *     ClusterState   replication_state 1
 *     map entry      key 1, value 2
 */
#include "bigtable/gateway/table_message.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/gateway/gc_message.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/type_message.h"

#define GRANULARITY_MILLIS 1
#define REPLICATION_READY  4

enum family_field {
    FAMILY_GC_RULE = 1,
    FAMILY_STATS = 2,
    FAMILY_VALUE_TYPE = 3,
};

static const struct message_field family_fields[] = {
    {"gc_rule", FAMILY_GC_RULE, PB_BYTES, FIELD_KEPT, NULL, 0},
    {"stats", FAMILY_STATS, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"value_type", FAMILY_VALUE_TYPE, PB_BYTES, FIELD_KEPT, NULL, 0},
};

const struct message_type table_family_type = {"ColumnFamily", family_fields,
                                               ARRAY_LEN(family_fields)};

/* --- to the message --------------------------------------------------------
 */

static int put_family(struct buf *out,
                      const struct quarry_family_info *family,
                      struct slice type,
                      struct err *err)
{
    size_t entry = pb_open(out, 3);
    size_t value;
    size_t rule;
    int rc = 0;
    pb_put_bytes(out, 1, slice_str(family->name));
    value = pb_open(out, 2);
    if (*family->gc) {
        rule = pb_open(out, 1);
        rc = gc_message_from_text(slice_str(family->gc), out, err);
        pb_close(out, rule);
    }
    if (type.len)
        pb_put_bytes(out, FAMILY_VALUE_TYPE, type);
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
    pb_put_integer(out, TABLE_GRANULARITY, GRANULARITY_MILLIS);
    pb_copy_fields(out, buf_slice(&extras), TABLE_RESTORE_INFO, true);
    pb_copy_fields(out, buf_slice(&extras), TABLE_DELETION_PROTECTION, true);
    pb_copy_fields(out, buf_slice(&extras), TABLE_ROW_KEY_SCHEMA, true);
    quarry_table_info_free(info);
    buf_close(&extras);
    return rc;
}

static void put_state(void *ctx, struct slice id, struct slice message)
{
    struct buf *out = ctx;
    size_t entry = pb_open(out, 2);
    size_t state;
    (void)message;
    pb_put_bytes(out, 1, id);
    state = pb_open(out, 2);
    pb_put_integer(out, 1, REPLICATION_READY);
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
    bool schema = view == TABLE_VIEW_UNSPECIFIED || view == TABLE_VIEW_SCHEMA ||
                  view == TABLE_VIEW_FULL;
    bool states = view == TABLE_VIEW_REPLICATION ||
                  view == TABLE_VIEW_ENCRYPTION || view == TABLE_VIEW_FULL;
    int rc;
    admin_put_name(out, 1, name->project, name->instance, "tables", name->id);
    if (view == TABLE_VIEW_NAME_ONLY)
        return check_exists(g, store_name, err);
    rc = schema ? put_schema(g, name, store_name, out, err)
                : check_exists(g, store_name, err);
    if (rc == 0 && states)
        rc = admin_each_cluster(g, name->instance, put_state, out, err);
    return rc;
}

/* --- from the message ------------------------------------------------------
 */

int family_options(struct slice family, char **out, struct err *err)
{
    struct buf text = BUF_INIT;
    struct buf settled = BUF_INIT;
    struct slice type = pb_find(family, FAMILY_VALUE_TYPE);
    size_t empty;
    int rc = message_settle(&table_family_type, family, &settled, err);
    *out = NULL;
    buf_close(&settled);
    if (rc == 0 && type.len)
        rc = type_message_check(type, "ColumnFamily.value_type", err);
    if (rc)
        return rc;
    buf_append_str(&text, "gc=");
    empty = text.len;
    rc = gc_message_to_text(pb_find(family, FAMILY_GC_RULE), &text, err);
    if (text.len == empty)
        buf_append_str(&text, "none");
    *out = buf_take(&text);
    return rc;
}

static int
add_family(struct table_families *f, struct slice entry, struct err *e)
{
    char name[REQUEST_FAMILY_BYTES_MAX + 1];
    struct quarry_family_spec *spec;
    char *options;
    int rc = request_family(pb_find(entry, 1), name, NULL);
    if (rc)
        return err_set(e, ERR_INVALID, "\"%.*s\" cannot name a column family",
                       SLICE_ARG(slice_sub(pb_find(entry, 1), 0, 80)));
    rc = family_options(pb_find(entry, 2), &options, e);
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
        if (pb_is_bytes(&f, 3))
            rc = add_family(out, f.bytes, err);
    if (rc == 0 && c.bad)
        rc = service_bad_request(err);
    return rc;
}

void table_families_close(struct table_families *f)
{
    for (size_t i = 0; i < f->count; i++) {
        char *texts[2];
        /* They were made here; the store's type borrows them. */
        memcpy(&texts[0], &f->specs[i].name, sizeof(char *));
        memcpy(&texts[1], &f->specs[i].options, sizeof(char *));
        mem_free(texts[0]);
        mem_free(texts[1]);
    }
    mem_free(f->specs);
}

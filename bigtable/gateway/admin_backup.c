/* Backups, and the snapshots that were before them in the API: both are
 * snapshots of the store, which share files with their tables, and a message of
 * the registry that says what the API wants to hear.
 *
 *     CreateBackupRequest   parent 1 (a cluster), backup_id 2, backup 3
 *     Backup                name 1, source_table 2, expire_time 3, start_time
 * 4, end_time 5, size_bytes 6, state 7, encryption_info 9, source_backup 10,
 *                           backup_type 11, hot_to_standard_time 12
 *     CopyBackupRequest     parent 1, backup_id 2, source_backup 3,
 *                           expire_time 4
 *     RestoreTableRequest   parent 1 (an instance), table_id 2, backup 3
 *     SnapshotTableRequest  name 1 (a table), cluster 2, snapshot_id 3, ttl 4,
 *                           description 5
 *     Snapshot              name 1, source_table 2, data_size_bytes 3,
 *                           create_time 4, delete_time 5, state 6,
 *                           description 7
 *     CreateTableFromSnapshotRequest   parent 1, table_id 2, source_snapshot 3
 *
 * One whose time is over goes with the next request about any. What the
 * registry has of one also holds, in a field that is not the API's, what the
 * store does not know of the table's schema, so that a table made of it has the
 * same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/panic.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/backup_filter.h"
#include "bigtable/gateway/backup_name.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/message_fields.h"
#include "bigtable/gateway/pb.h"
#include "bigtable/gateway/registry.h"
#include "bigtable/gateway/table_message.h"

#define STATE_READY    2 /* Of backups, */
#define SNAPSHOT_READY 1 /* and of snapshots. */
#define TYPE_STANDARD  1
#define SOURCE_BACKUP  1 /* RestoreSourceType. */
#define US_PER_S       INT64_C(1000000)
/* Of what is kept: extras of the table (table_message.h). Never sent. */
#define FIELD_SCHEMA 1000

/* --- messages ------------------------------------------------------------ */

/* Of a Timestamp; 0: none. */
static int64_t time_of(struct slice message)
{
    uint64_t s = pb_find_integer(message, 1);
    uint64_t ns = pb_find_integer(message, 2);
    if (s > (uint64_t)(INT64_MAX / US_PER_S - 1) || ns >= 1000000000)
        return 0;
    return (int64_t)s * US_PER_S + (int64_t)ns / 1000;
}

/* Bytes of the snapshot @name; 0 when it is not there any more. */
static uint64_t bytes_of(struct gateway *g, const char *name)
{
    struct quarry_snapshots *l;
    uint64_t bytes = 0;
    if (quarry_snapshot_list(g->quarry, &l, NULL))
        return 0;
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->list[i].name, name) == 0)
            bytes = l->list[i].bytes;
    quarry_snapshots_free(l);
    return bytes;
}

static const struct message_field backup_fields[] = {
    {"name", 1, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"source_table", 2, PB_BYTES, FIELD_FIXED, NULL, 0},
    {"expire_time", 3, PB_BYTES, FIELD_KEPT, NULL, 0},
    {"start_time", 4, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"end_time", 5, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"size_bytes", 6, PB_VARINT, FIELD_OUTPUT, NULL, 0},
    {"state", 7, PB_VARINT, FIELD_OUTPUT, NULL, 0},
    {"encryption_info", 9, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    {"source_backup", 10, PB_BYTES, FIELD_OUTPUT, NULL, 0},
    /* A hot one is one that is restored fast: all are. */
    {"backup_type", 11, PB_VARINT, FIELD_FIXED, NULL, 0},
    {"hot_to_standard_time", 12, PB_BYTES, FIELD_REFUSED, NULL, 0},
};

static const struct message_type backup_type = {"Backup", backup_fields,
                                                ARRAY_LEN(backup_fields)};

/* What is kept of one, as the client sees it. */
static void put_kept(struct slice kept, struct buf *out)
{
    pb_copy_fields(out, kept, FIELD_SCHEMA, false);
}

/* --- time that is over --------------------------------------------------- */

struct expiring {
    struct gateway *g;
    const struct backup_kind *kind;
    int64_t now_us;
    struct buf keys; /* Each with a NUL behind it. */
};

static int
see_expired(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct expiring *e = ctx;
    struct slice when = pb_find(message, e->kind->expires);
    int64_t us = time_of(when);
    (void)err;
    if (us && us <= e->now_us) {
        buf_append_slice(&e->keys, key);
        buf_append_byte(&e->keys, '\0');
    }
    return 0;
}

/* "instances/I/backups/C/B": the snapshot first, so that a failure leaves the
 * entry to try again with. */
static void
drop_by_key(struct gateway *g, const struct backup_kind *k, struct slice key)
{
    struct buf text = BUF_INIT;
    struct backup_name b;
    struct slice rest = slice_sub(key, strlen("instances/"), key.len);
    size_t at = slice_find_byte(rest, '/');
    struct slice instance = slice_sub(rest, 0, at);
    rest = slice_sub(rest, at + strlen(k->word) + 2, rest.len);
    at = slice_find_byte(rest, '/');
    b.key = BUF_INIT;
    b.name =
        (struct resource_name){.instance = instance,
                               .id = slice_sub(rest, 0, at),
                               .sub_id = slice_sub(rest, at + 1, rest.len)};
    if (backup_name_fill(k, &b, NULL) == 0) {
        int rc = quarry_snapshot_drop(g->quarry, b.store, NULL);
        if ((rc == 0 || rc == ERR_NOTFOUND) &&
            registry_remove(g->quarry, key, NULL)) {
            /* The next request tries again. */
        }
    }
    buf_close(&b.key);
    buf_close(&text);
}

static int backup_expire(struct gateway *g,
                         const struct backup_kind *k,
                         struct slice instance,
                         struct err *err)
{
    struct expiring e = {.g = g, .kind = k, .now_us = service_now_us(g)};
    struct buf prefix = BUF_INIT;
    int rc;
    admin_key(&prefix, instance, k->word, SLICE_EMPTY);
    rc = registry_each(g->own, buf_slice(&prefix), see_expired, &e, err);
    for (size_t at = 0; rc == 0 && at < e.keys.len;) {
        size_t n = strlen(e.keys.data + at);
        drop_by_key(g, k, slice_make(e.keys.data + at, n));
        at += n + 1;
    }
    buf_close(&prefix);
    buf_close(&e.keys);
    return rc;
}

/* --- making -------------------------------------------------------------- */

/* Take the snapshot and keep @message of it, with the schema of @source (NULL:
 * @message has it already). */
static int backup_make(struct gateway *g,
                       const struct backup_kind *k,
                       const struct backup_name *b,
                       const char *table,
                       const struct resource_name *source,
                       struct buf *message,
                       struct err *err)
{
    struct buf schema = BUF_INIT;
    int rc = backup_expire(g, k, b->name.instance, err);
    if (rc == 0 && source)
        rc = table_schema_extras(g, source, &schema, err);
    if (schema.len)
        pb_put_bytes(message, FIELD_SCHEMA, buf_slice(&schema));
    buf_close(&schema);
    if (rc == 0)
        rc = quarry_table_snapshot(g->quarry, table, b->store, 0, err);
    if (rc)
        return rc;
    pb_put_integer(message, k->size, (int64_t)bytes_of(g, b->store));
    rc = registry_put(g->quarry, buf_slice(&b->key), buf_slice(message), err);
    if (rc && quarry_snapshot_drop(g->quarry, b->store, NULL)) {
        /* It stays, without a name of the API. */
    }
    return rc;
}

static int reply_made(struct gateway *g,
                      struct grpc_call *call,
                      const struct backup_kind *k,
                      const struct backup_name *b,
                      const char *type,
                      const char *metadata,
                      const struct buf *message,
                      struct err *err)
{
    struct buf whole = BUF_INIT;
    int rc;
    backup_name_put(k, &b->name, &whole);
    put_kept(buf_slice(message), &whole);
    rc = admin_reply_operation(g, call, type, metadata, buf_slice(&whole), err);
    buf_close(&whole);
    return rc;
}

static int check_expiry(struct gateway *g, struct slice when, struct err *err)
{
    if (time_of(when) > service_now_us(g))
        return 0;
    return err_set(err, ERR_INVALID, "expire_time must be in the future");
}

static void put_backup(struct gateway *g,
                       struct slice source_table,
                       struct slice source_backup,
                       struct slice expires,
                       uint64_t type,
                       struct buf *out)
{
    int64_t now_us = service_now_us(g);
    pb_put_bytes(out, 2, source_table);
    pb_put_bytes(out, 3, expires);
    service_put_time(out, 4, now_us);
    service_put_time(out, 5, now_us);
    pb_put_integer(out, 7, STATE_READY);
    if (source_backup.len)
        pb_put_bytes(out, 10, source_backup);
    pb_put_integer(out, 11, (int64_t)(type ? type : TYPE_STANDARD));
}

int admin_create_backup(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice backup = pb_find(request, 3);
    struct slice source = pb_find(backup, 2);
    struct resource_name source_name;
    char table[STORE_NAME_BYTES];
    struct backup_name b;
    struct buf message = BUF_INIT;
    struct buf ignored = BUF_INIT;
    int rc = backup_name_child(&backup_kind_backup, pb_find(request, 1),
                               pb_find(request, 2), &b, err);
    if (rc == 0)
        rc = message_settle(&backup_type, backup, &ignored, err);
    buf_close(&ignored);
    if (rc == 0)
        rc = check_expiry(g, pb_find(backup, 3), err);
    if (rc == 0)
        rc = resource_name_parse_kind(source, "tables", &source_name, err);
    if (rc == 0)
        rc = service_store_name(g, source, table, err);
    if (rc == 0) {
        put_backup(g, source, SLICE_EMPTY, pb_find(backup, 3),
                   pb_find_integer(backup, 11), &message);
        rc = backup_make(g, &backup_kind_backup, &b, table, &source_name,
                         &message, err);
    }
    if (rc == 0)
        rc = reply_made(g, call, &backup_kind_backup, &b, "Backup",
                        "CreateBackupMetadata", &message, err);
    buf_close(&message);
    buf_close(&b.key);
    return rc;
}

int admin_snapshot_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    int64_t ttl_us = time_of(pb_find(request, 4));
    int64_t now_us = service_now_us(g);
    struct resource_name source;
    char table[STORE_NAME_BYTES];
    struct backup_name b;
    struct buf message = BUF_INIT;
    int rc = backup_name_child(&backup_kind_snapshot, pb_find(request, 2),
                               pb_find(request, 3), &b, err);
    if (rc == 0)
        rc = resource_name_parse_kind(pb_find(request, 1), "tables", &source,
                                      err);
    if (rc == 0)
        rc = service_store_name(g, pb_find(request, 1), table, err);
    if (rc == 0) {
        size_t opened = pb_open(&message, 2);
        pb_put_bytes(&message, 1, pb_find(request, 1));
        pb_close(&message, opened);
        service_put_time(&message, 4, now_us);
        if (ttl_us)
            service_put_time(&message, 5, now_us + ttl_us);
        pb_put_integer(&message, 6, SNAPSHOT_READY);
        pb_put_bytes(&message, 7, pb_find(request, 5));
        rc = backup_make(g, &backup_kind_snapshot, &b, table, &source, &message,
                         err);
    }
    if (rc == 0)
        rc = reply_made(g, call, &backup_kind_snapshot, &b, "Snapshot",
                        "SnapshotTableMetadata", &message, err);
    buf_close(&message);
    buf_close(&b.key);
    return rc;
}

/* --- looking ------------------------------------------------------------- */

/* Its message without the name, appended. */
static int backup_find(struct gateway *g,
                       const struct backup_kind *k,
                       const struct backup_name *b,
                       struct buf *out,
                       struct err *err)
{
    bool found = false;
    int rc = backup_expire(g, k, b->name.instance, err);
    if (rc == 0)
        rc = registry_get(g->own, buf_slice(&b->key), out, &found, err);
    return rc || found ? rc : backup_not_found(k, b, err);
}

static int backup_get(struct gateway *g,
                      const struct backup_kind *k,
                      struct grpc_call *call,
                      struct err *err)
{
    struct buf *out = grpc_scratch(call);
    struct buf kept = BUF_INIT;
    struct backup_name b;
    int rc = backup_name_parse(k, pb_find(grpc_request(call), 1), &b, err);
    if (rc == 0)
        rc = backup_find(g, k, &b, &kept, err);
    if (rc == 0) {
        backup_name_put(k, &b.name, out);
        put_kept(buf_slice(&kept), out);
    }
    buf_close(&kept);
    buf_close(&b.key);
    return rc ? rc : grpc_send(call, out, err);
}

struct listing {
    const struct backup_kind *kind;
    struct resource_name name;
    size_t prefix_bytes;
    bool all;            /* "clusters/-" */
    struct slice filter; /* Of backups. */
    struct buf one;
    struct buf *out;
};

static int
backup_visit(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct listing *l = ctx;
    struct resource_name n = l->name;
    struct slice rest = slice_sub(key, l->prefix_bytes, key.len);
    size_t at = slice_find_byte(rest, '/');
    bool fits = true;
    int rc;
    n.id = slice_sub(rest, 0, at);
    n.sub_id = slice_sub(rest, at + 1, rest.len);
    if (!l->all && !slice_eq(n.id, l->name.id))
        return 0;
    buf_clear(&l->one);
    backup_name_put(l->kind, &n, &l->one);
    put_kept(message, &l->one);
    rc = backup_filter_fits(l->filter, buf_slice(&l->one), &fits, err);
    if (rc == 0 && fits)
        pb_put_bytes(l->out, 1, buf_slice(&l->one));
    return rc;
}

static int backup_list(struct gateway *g,
                       const struct backup_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct listing l = {.kind = k, .out = grpc_scratch(call)};
    struct slice request = grpc_request(call);
    struct buf prefix = BUF_INIT;
    bool fits;
    int rc =
        resource_name_parse_kind(pb_find(request, 1), "clusters", &l.name, err);
    if (rc == 0 && k == &backup_kind_backup) {
        l.filter = pb_find(request, 2);
        rc = backup_filter_fits(l.filter, SLICE_EMPTY, &fits, err);
    }
    if (rc == 0 && k == &backup_kind_backup && pb_find(request, 3).len)
        rc = err_set(err, ERR_UNSUPPORTED, "ListBackupsRequest.order_by");
    if (rc == 0)
        rc = backup_expire(g, k, l.name.instance, err);
    if (rc == 0) {
        l.all = slice_eq_str(l.name.id, "-");
        admin_key(&prefix, l.name.instance, k->word, SLICE_EMPTY);
        l.prefix_bytes = prefix.len;
        rc = registry_each(g->own, buf_slice(&prefix), backup_visit, &l, err);
    }
    buf_close(&l.one);
    buf_close(&prefix);
    return rc ? rc : grpc_send(call, l.out, err);
}

static int backup_drop(struct gateway *g,
                       const struct backup_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct buf message = BUF_INIT;
    struct backup_name b;
    int rc = backup_name_parse(k, pb_find(grpc_request(call), 1), &b, err);
    if (rc == 0)
        rc = backup_find(g, k, &b, &message, err);
    if (rc == 0)
        rc = quarry_snapshot_drop(g->quarry, b.store, err);
    if (rc == ERR_NOTFOUND && message.len)
        rc = 0; /* Half of it was gone. */
    if (rc == 0)
        rc = registry_remove(g->quarry, buf_slice(&b.key), err);
    buf_close(&message);
    buf_close(&b.key);
    return rc ? rc : service_reply_empty(call, err);
}

int admin_update_backup(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice backup = pb_find(request, 1);
    struct buf old = BUF_INIT;
    struct buf fresh = BUF_INIT;
    struct buf *out = grpc_scratch(call);
    struct backup_name b;
    int rc =
        backup_name_parse(&backup_kind_backup, pb_find(backup, 1), &b, err);
    if (rc == 0)
        rc = backup_find(g, &backup_kind_backup, &b, &old, err);
    if (rc == 0)
        rc = message_merge(&backup_type, buf_slice(&old), backup,
                           pb_find(request, 2), &fresh, err);
    if (rc == 0)
        rc = check_expiry(g, pb_find(buf_slice(&fresh), 3), err);
    if (rc == 0)
        rc = registry_replace(g->quarry, buf_slice(&b.key), buf_slice(&old),
                              true, buf_slice(&fresh), err);
    if (rc == 0) {
        backup_name_put(&backup_kind_backup, &b.name, out);
        put_kept(buf_slice(&fresh), out);
    }
    buf_close(&old);
    buf_close(&fresh);
    buf_close(&b.key);
    return rc ? rc : grpc_send(call, out, err);
}

/* --- tables of them ------------------------------------------------------ */

/* What is known of a table that was made of a backup: RestoreInfo {source_type
 * 1, backup_info 2 {backup 1, start_time 2, end_time 3, source_table 4,
 * source_backup 10}}. */
static void
put_restore_info(struct slice backup, struct slice kept, struct buf *out)
{
    size_t opened = pb_open(out, TABLE_RESTORE_INFO);
    size_t info;
    pb_put_integer(out, 1, SOURCE_BACKUP);
    info = pb_open(out, 2);
    pb_put_bytes(out, 1, backup);
    pb_put_bytes(out, 2, pb_find(kept, 4));
    pb_put_bytes(out, 3, pb_find(kept, 5));
    pb_put_bytes(out, 4, pb_find(kept, 2));
    if (pb_find(kept, 10).len)
        pb_put_bytes(out, 10, pb_find(kept, 10));
    pb_close(out, info);
    pb_close(out, opened);
}

static int keep_restored(struct gateway *g,
                         const struct backup_kind *k,
                         const struct resource_name *table,
                         struct slice backup,
                         struct slice kept,
                         struct err *err)
{
    struct buf extras = BUF_INIT;
    int rc;
    buf_append_slice(&extras, pb_find(kept, FIELD_SCHEMA));
    if (k == &backup_kind_backup)
        put_restore_info(backup, kept, &extras);
    rc = table_extras_put(g, table, buf_slice(&extras), err);
    buf_close(&extras);
    return rc;
}

static int backup_restore(struct gateway *g,
                          const struct backup_kind *k,
                          struct grpc_call *call,
                          const char *metadata,
                          struct err *err)
{
    struct slice request = grpc_request(call);
    char table[STORE_NAME_BYTES];
    struct resource_name name;
    struct buf message = BUF_INIT;
    struct backup_name b = {.key = BUF_INIT};
    int rc = resource_name_parse_kind(pb_find(request, 1), "", &name, err);
    name.kind = SLICE_LIT("tables");
    name.id = pb_find(request, 2);
    if (rc == 0)
        rc = store_name_make(g->home, name.instance, name.id, table, err);
    if (rc == 0)
        rc = backup_name_parse(k, pb_find(request, 3), &b, err);
    if (rc == 0)
        rc = backup_find(g, k, &b, &message, err);
    if (rc == 0)
        rc = quarry_snapshot_restore(g->quarry, b.store, table, err);
    if (rc == 0)
        rc = keep_restored(g, k, &name, pb_find(request, 3),
                           buf_slice(&message), err);
    buf_clear(&message);
    if (rc == 0)
        rc = table_message_put(g, &name, table, 0, &message, err);
    if (rc == 0)
        rc = admin_reply_operation(g, call, "Table", metadata,
                                   buf_slice(&message), err);
    buf_close(&message);
    buf_close(&b.key);
    return rc;
}

/* A copy is of a table that is made for it, and dropped again: all share the
 * files. */
static int copy_snapshot(struct gateway *g,
                         const struct backup_name *from,
                         const struct backup_name *to,
                         struct buf *message,
                         struct err *err)
{
    char table[STORE_NAME_BYTES];
    int rc;
    snprintf(table, sizeof(table), "copy.%016" PRIx64,
             hash64_slice(slice_str(to->store)));
    rc = quarry_snapshot_restore(g->quarry, from->store, table, err);
    if (rc)
        return rc;
    rc = backup_make(g, &backup_kind_backup, to, table, NULL, message, err);
    if (quarry_table_drop(g->quarry, table, rc ? NULL : err) && rc == 0)
        rc = ERR_UNAVAILABLE;
    return rc;
}

int admin_copy_backup(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct backup_name from = {.key = BUF_INIT};
    struct backup_name to = {.key = BUF_INIT};
    struct buf old = BUF_INIT;
    struct buf message = BUF_INIT;
    int rc = backup_name_child(&backup_kind_backup, pb_find(request, 1),
                               pb_find(request, 2), &to, err);
    if (rc == 0)
        rc = backup_name_parse(&backup_kind_backup, pb_find(request, 3), &from,
                               err);
    if (rc == 0)
        rc = check_expiry(g, pb_find(request, 4), err);
    if (rc == 0)
        rc = backup_find(g, &backup_kind_backup, &from, &old, err);
    if (rc == 0) {
        struct slice schema = pb_find(buf_slice(&old), FIELD_SCHEMA);
        put_backup(g, pb_find(buf_slice(&old), 2), pb_find(request, 3),
                   pb_find(request, 4), TYPE_STANDARD, &message);
        if (schema.len)
            pb_put_bytes(&message, FIELD_SCHEMA, schema);
        rc = copy_snapshot(g, &from, &to, &message, err);
    }
    if (rc == 0)
        rc = reply_made(g, call, &backup_kind_backup, &to, "Backup",
                        "CopyBackupMetadata", &message, err);
    buf_close(&old);
    buf_close(&message);
    buf_close(&from.key);
    buf_close(&to.key);
    return rc;
}

/* --- what is there ------------------------------------------------------- */

static int
see_any(void *ctx, struct slice key, struct slice message, struct err *err)
{
    bool *any = ctx;
    (void)key;
    (void)message;
    (void)err;
    *any = true;
    return 0;
}

int backup_exists(struct gateway *g,
                  struct slice instance,
                  struct slice cluster,
                  bool *exists,
                  struct err *err)
{
    static const struct backup_kind *const kinds[] = {&backup_kind_backup,
                                                      &backup_kind_snapshot};
    int rc = 0;
    *exists = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds) && rc == 0; i++) {
        struct buf prefix = BUF_INIT;
        rc = backup_expire(g, kinds[i], instance, err);
        admin_key(&prefix, instance, kinds[i]->word, cluster);
        if (cluster.len)
            buf_append_byte(&prefix, '/');
        if (rc == 0)
            rc =
                registry_each(g->own, buf_slice(&prefix), see_any, exists, err);
        buf_close(&prefix);
    }
    return rc;
}

/* --- methods ------------------------------------------------------------- */

int admin_get_backup(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_get(ctx, &backup_kind_backup, call, err);
}

int admin_list_backups(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_list(ctx, &backup_kind_backup, call, err);
}

int admin_delete_backup(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_drop(ctx, &backup_kind_backup, call, err);
}

int admin_retable_part(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_restore(ctx, &backup_kind_backup, call,
                          "RestoreTableMetadata", err);
}

int admin_get_snapshot(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_get(ctx, &backup_kind_snapshot, call, err);
}

int admin_list_snapshots(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_list(ctx, &backup_kind_snapshot, call, err);
}

int admin_delete_snapshot(void *ctx, struct grpc_call *call, struct err *err)
{
    return backup_drop(ctx, &backup_kind_snapshot, call, err);
}

int admin_create_table_from_snapshot(void *ctx,
                                     struct grpc_call *call,
                                     struct err *err)
{
    return backup_restore(ctx, &backup_kind_snapshot, call,
                          "CreateTableFromSnapshotMetadata", err);
}

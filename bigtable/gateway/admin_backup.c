/* Backups, and the snapshots that preceded them in the API. Each is a snapshot
 * of the store, which shares files with its table, and a message of the
 * registry that says what the API adds: where it came from and when it expires.
 *
 * An expired one is removed by the next request about any of its kind in its
 * instance, or by the next round of backup_schedule.h. The message in the
 * registry also holds, in a field that is not the API's, the part of the
 * table's schema that the store does not know, so that a table restored from it
 * has the same schema.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/backup_filter.h"
#include "bigtable/gateway/backup_name.h"
#include "bigtable/gateway/backup_order.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/gateway/message_fields.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"

#define US_PER_S INT64_C(1000000)
/* A minute less than the API's day: clocks differ. */
#define HOT_US_MIN ((INT64_C(24) * 3600 - 60) * US_PER_S)
/* Our own field of a kept message: extras of the table (table_message.h). Never
 * sent; above all numbers of the API. */
#define FIELD_SCHEMA 1000

/* Requests and responses of both kinds agree on these fields. */
enum {
    REQUEST_NAME = PB_GetBackupRequest_name,
    RESPONSE_LIST = PB_ListBackupsResponse_backups,
};

#define SAME(a, b) STATIC_ASSERT((int)PB_##a == (int)PB_##b, #a " and " #b)
SAME(DeleteBackupRequest_name, GetBackupRequest_name);
SAME(GetSnapshotRequest_name, GetBackupRequest_name);
SAME(DeleteSnapshotRequest_name, GetBackupRequest_name);
SAME(ListBackupsRequest_parent, GetBackupRequest_name);
SAME(ListSnapshotsRequest_parent, GetBackupRequest_name);
SAME(ListSnapshotsResponse_snapshots, ListBackupsResponse_backups);
SAME(CreateTableFromSnapshotRequest_parent, RestoreTableRequest_parent);
SAME(CreateTableFromSnapshotRequest_table_id, RestoreTableRequest_table_id);
SAME(CreateTableFromSnapshotRequest_source_snapshot,
     RestoreTableRequest_backup);
#undef SAME

/* --- messages ------------------------------------------------------------ */

/* The µs of @message, a Timestamp or a Duration; 0 if it is absent or out of
 * range. */
static int64_t time_of(struct slice message)
{
    uint64_t s = pb_find_integer(message, PB_Timestamp_seconds);
    uint64_t ns = pb_find_integer(message, PB_Timestamp_nanos);
    if (s > (uint64_t)(INT64_MAX / US_PER_S - 1) || ns >= 1000000000)
        return 0;
    return (int64_t)s * US_PER_S + (int64_t)ns / 1000;
}

/* Bytes of the snapshot @name; 0 when it no longer exists. */
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

static const struct message_rule backup_rules[] = {
    [PB_Backup_name] = {.rule = FIELD_OUTPUT},
    [PB_Backup_source_table] = {.rule = FIELD_FIXED},
    [PB_Backup_expire_time] = {.rule = FIELD_KEPT},
    [PB_Backup_start_time] = {.rule = FIELD_OUTPUT},
    [PB_Backup_end_time] = {.rule = FIELD_OUTPUT},
    [PB_Backup_size_bytes] = {.rule = FIELD_OUTPUT},
    [PB_Backup_state] = {.rule = FIELD_OUTPUT},
    [PB_Backup_encryption_info] = {.rule = FIELD_OUTPUT},
    [PB_Backup_source_backup] = {.rule = FIELD_OUTPUT},
    /* A "hot" backup is one that is restored fast: all are. */
    [PB_Backup_backup_type] = {.rule = FIELD_FIXED},
    [PB_Backup_hot_to_standard_time] = {.rule = FIELD_KEPT},
};

static const struct message_type backup_type =
    MESSAGE_TYPE(Backup, backup_rules);

/* Append @kept, a message of the registry, as clients see it at @now_us: a hot
 * backup is a standard one from its time on. */
static void put_kept(struct slice kept, int64_t now_us, struct buf *out)
{
    const int64_t until_us =
        time_of(pb_find(kept, PB_Backup_hot_to_standard_time));
    struct buf visible = BUF_INIT;
    pb_copy_fields(&visible, kept, FIELD_SCHEMA, false);
    if (until_us && until_us <= now_us) {
        pb_copy_fields(out, buf_slice(&visible), PB_Backup_backup_type, false);
        pb_put_integer(out, PB_Backup_backup_type,
                       PB_Backup_BackupType_STANDARD);
    } else {
        buf_append_slice(out, buf_slice(&visible));
    }
    buf_close(&visible);
}

/* hot_to_standard_time is of hot backups. */
static int
check_hot_time(struct gateway *g, struct slice backup, struct err *err)
{
    struct slice time = pb_find(backup, PB_Backup_hot_to_standard_time);
    if (time.len == 0)
        return 0;
    if (pb_find_integer(backup, PB_Backup_backup_type) !=
        PB_Backup_BackupType_HOT)
        return err_set(err, ERR_INVALID,
                       "hot_to_standard_time: the backup_type is not HOT");
    if (time_of(time) - service_now_us(g) < HOT_US_MIN)
        return err_set(err, ERR_INVALID,
                       "hot_to_standard_time must be 24 hours away at least");
    return 0;
}

/* --- expiry -------------------------------------------------------------- */

struct expiring {
    struct gateway *g;
    const struct backup_kind *kind;
    int64_t now_us;
    struct buf keys; /* Each followed by a NUL. */
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

/* Drop "instances/I/backups/C/B": the snapshot first, so that after a failure
 * the entry is still there to try again. */
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
        if (rc == 0 || rc == ERR_NOTFOUND) {
            /* The next request tries again. */
            IGNORE_RESULT(registry_remove(g->quarry, key, NULL));
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

/* Take the snapshot and keep @message about it, with the schema of @source
 * (NULL: @message has it already). */
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
    if (rc) {
        /* The snapshot stays, unknown to the API. */
        IGNORE_RESULT(quarry_snapshot_drop(g->quarry, b->store, NULL));
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
    put_kept(buf_slice(message), service_now_us(g), &whole);
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
    size_t opened;
    pb_put_bytes(out, PB_Backup_source_table, source_table);
    pb_put_bytes(out, PB_Backup_expire_time, expires);
    service_put_time(out, PB_Backup_start_time, now_us);
    service_put_time(out, PB_Backup_end_time, now_us);
    pb_put_integer(out, PB_Backup_state, PB_Backup_State_READY);
    if (source_backup.len)
        pb_put_bytes(out, PB_Backup_source_backup, source_backup);
    pb_put_integer(out, PB_Backup_backup_type,
                   (int64_t)(type ? type : PB_Backup_BackupType_STANDARD));
    opened = pb_open(out, PB_Backup_encryption_info);
    pb_put_integer(out, PB_EncryptionInfo_encryption_type,
                   PB_EncryptionInfo_EncryptionType_GOOGLE_DEFAULT_ENCRYPTION);
    pb_close(out, opened);
}

int admin_create_backup(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice backup = pb_find(request, PB_CreateBackupRequest_backup);
    struct slice source = pb_find(backup, PB_Backup_source_table);
    struct slice expires = pb_find(backup, PB_Backup_expire_time);
    struct resource_name source_name;
    char table[STORE_NAME_BYTES];
    struct backup_name b;
    struct buf message = BUF_INIT;
    struct buf ignored = BUF_INIT;
    int rc = backup_name_child(
        &backup_kind_backup, pb_find(request, PB_CreateBackupRequest_parent),
        pb_find(request, PB_CreateBackupRequest_backup_id), &b, err);
    if (rc == 0)
        rc = message_settle(&backup_type, backup, &ignored, err);
    buf_close(&ignored);
    if (rc == 0)
        rc = check_expiry(g, expires, err);
    if (rc == 0)
        rc = check_hot_time(g, backup, err);
    if (rc == 0)
        rc = resource_name_parse_kind(source, "tables", &source_name, err);
    if (rc == 0)
        rc = service_store_name(g, source, table, err);
    if (rc == 0) {
        put_backup(g, source, SLICE_EMPTY, expires,
                   pb_find_integer(backup, PB_Backup_backup_type), &message);
        pb_copy_fields(&message, backup, PB_Backup_hot_to_standard_time, true);
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

int admin_backup_make(struct gateway *g,
                      const struct resource_name *source,
                      struct slice source_text,
                      struct slice cluster,
                      struct slice id,
                      int64_t expires_us,
                      struct err *err)
{
    struct backup_name b = {.name = *source, .key = BUF_INIT};
    char table[STORE_NAME_BYTES];
    struct buf times = BUF_INIT, message = BUF_INIT;
    int rc;
    b.name.kind = SLICE_LIT("clusters");
    b.name.id = cluster;
    b.name.sub_kind = slice_str(backup_kind_backup.word);
    b.name.sub_id = id;
    rc = backup_name_fill(&backup_kind_backup, &b, err);
    if (rc == 0)
        rc = service_store_name(g, source_text, table, err);
    if (rc == 0) {
        service_put_time(&times, 1, expires_us);
        put_backup(g, source_text, SLICE_EMPTY, pb_find(buf_slice(&times), 1),
                   0, &message);
        rc = backup_make(g, &backup_kind_backup, &b, table, source, &message,
                         err);
    }
    buf_close(&times);
    buf_close(&message);
    buf_close(&b.key);
    return rc;
}

/* The instances that have entries of a kind, each followed by a NUL. */
struct instances_seen {
    const struct backup_kind *kind;
    struct buf list;
};

static int
see_instance(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct instances_seen *s = ctx;
    struct slice rest = slice_sub(key, strlen("instances/"), key.len);
    const size_t at = slice_find_byte(rest, '/');
    struct slice instance = slice_sub(rest, 0, at);
    (void)message;
    (void)err;
    rest = slice_sub(rest, at + 1, rest.len);
    if (!slice_starts_with(rest, slice_str(s->kind->word)) ||
        slice_find_byte(rest, '/') != strlen(s->kind->word))
        return 0;
    if (s->list.len > instance.len &&
        slice_eq(slice_sub(buf_slice(&s->list), s->list.len - 1 - instance.len,
                           s->list.len - 1),
                 instance))
        return 0; /* Its other entries are beside it. */
    buf_append_slice(&s->list, instance);
    buf_append_byte(&s->list, '\0');
    return 0;
}

static int
expire_kind(struct gateway *g, const struct backup_kind *k, struct err *err)
{
    struct instances_seen s = {.kind = k};
    int rc =
        registry_each(g->own, SLICE_LIT("instances/"), see_instance, &s, err);
    for (size_t at = 0; rc == 0 && at < s.list.len;) {
        struct slice instance = slice_str(s.list.data + at);
        rc = backup_expire(g, k, instance, err);
        at += instance.len + 1;
    }
    buf_close(&s.list);
    return rc;
}

int admin_backup_expire_all(struct gateway *g, struct err *err)
{
    int rc = expire_kind(g, &backup_kind_backup, err);
    return rc ? rc : expire_kind(g, &backup_kind_snapshot, err);
}

int admin_snapshot_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice source = pb_find(request, PB_SnapshotTableRequest_name);
    int64_t ttl_us = time_of(pb_find(request, PB_SnapshotTableRequest_ttl));
    int64_t now_us = service_now_us(g);
    struct resource_name source_name;
    char table[STORE_NAME_BYTES];
    struct backup_name b;
    struct buf message = BUF_INIT;
    int rc = backup_name_child(
        &backup_kind_snapshot,
        pb_find(request, PB_SnapshotTableRequest_cluster),
        pb_find(request, PB_SnapshotTableRequest_snapshot_id), &b, err);
    if (rc == 0)
        rc = resource_name_parse_kind(source, "tables", &source_name, err);
    if (rc == 0)
        rc = service_store_name(g, source, table, err);
    if (rc == 0) {
        size_t opened = pb_open(&message, PB_Snapshot_source_table);
        pb_put_bytes(&message, PB_Table_name, source);
        pb_close(&message, opened);
        service_put_time(&message, PB_Snapshot_create_time, now_us);
        if (ttl_us)
            service_put_time(&message, PB_Snapshot_delete_time,
                             now_us + ttl_us);
        pb_put_integer(&message, PB_Snapshot_state, PB_Snapshot_State_READY);
        pb_put_bytes(&message, PB_Snapshot_description,
                     pb_find(request, PB_SnapshotTableRequest_description));
        rc = backup_make(g, &backup_kind_snapshot, &b, table, &source_name,
                         &message, err);
    }
    if (rc == 0)
        rc = reply_made(g, call, &backup_kind_snapshot, &b, "Snapshot",
                        "SnapshotTableMetadata", &message, err);
    buf_close(&message);
    buf_close(&b.key);
    return rc;
}

/* --- get, list, delete, update ------------------------------------------- */

/* Append the message of @b, without its name. */
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
    int rc = backup_name_parse(k, pb_find(grpc_request(call), REQUEST_NAME), &b,
                               err);
    if (rc == 0)
        rc = backup_find(g, k, &b, &kept, err);
    if (rc == 0) {
        backup_name_put(k, &b.name, out);
        put_kept(buf_slice(&kept), service_now_us(g), out);
    }
    buf_close(&kept);
    buf_close(&b.key);
    return rc ? rc : grpc_send(call, out, err);
}

struct listing {
    const struct backup_kind *kind;
    struct resource_name name;
    size_t prefix_bytes;
    bool all; /* "clusters/-" */
    int64_t now_us;
    struct slice filter; /* Of backups. */
    struct backup_order order;
    struct buf messages; /* The backups that fit, one after the other, */
    struct listed *list; /* and their places in it; owned. */
    size_t count;
    size_t cap;
};

/* A message among those of a listing. */
struct listed {
    const struct listing *listing;
    size_t at;
    size_t len;
};

static struct slice listed_message(const struct listed *m)
{
    return slice_sub(buf_slice(&m->listing->messages), m->at, m->at + m->len);
}

static int compare_listed(const void *a, const void *b)
{
    const struct listed *x = a;
    return backup_order_compare(&x->listing->order, listed_message(x),
                                listed_message(b));
}

static int
backup_visit(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct listing *l = ctx;
    struct resource_name n = l->name;
    struct slice rest = slice_sub(key, l->prefix_bytes, key.len);
    size_t at = slice_find_byte(rest, '/');
    struct listed one = {.listing = l, .at = l->messages.len};
    bool fits = true;
    int rc;
    n.id = slice_sub(rest, 0, at);
    n.sub_id = slice_sub(rest, at + 1, rest.len);
    if (!l->all && !slice_eq(n.id, l->name.id))
        return 0;
    backup_name_put(l->kind, &n, &l->messages);
    put_kept(message, l->now_us, &l->messages);
    one.len = l->messages.len - one.at;
    rc = backup_filter_fits(l->filter, listed_message(&one), &fits, err);
    if (rc || !fits) {
        l->messages.len = one.at;
        return rc;
    }
    if (l->count == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->list = mem_realloc(l->list, l->cap * sizeof(*l->list));
    }
    l->list[l->count++] = one;
    return 0;
}

/* Append the messages to @out; backups in their order, snapshots in that of
 * their names. */
static void put_listing(struct listing *l, struct buf *out)
{
    if (l->kind == &backup_kind_backup && l->count > 0)
        qsort(l->list, l->count, sizeof(*l->list), compare_listed);
    for (size_t i = 0; i < l->count; i++)
        pb_put_bytes(out, RESPONSE_LIST, listed_message(&l->list[i]));
}

static int backup_list(struct gateway *g,
                       const struct backup_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct listing l = {.kind = k, .now_us = service_now_us(g)};
    struct buf *out = grpc_scratch(call);
    struct slice request = grpc_request(call);
    struct buf prefix = BUF_INIT;
    bool fits;
    int rc = resource_name_parse_kind(pb_find(request, REQUEST_NAME),
                                      "clusters", &l.name, err);
    if (rc == 0 && k == &backup_kind_backup) {
        l.filter = pb_find(request, PB_ListBackupsRequest_filter);
        rc = backup_filter_fits(l.filter, SLICE_EMPTY, &fits, err);
    }
    if (rc == 0 && k == &backup_kind_backup)
        rc = backup_order_parse(
            pb_find(request, PB_ListBackupsRequest_order_by), &l.order, err);
    if (rc == 0)
        rc = backup_expire(g, k, l.name.instance, err);
    if (rc == 0) {
        l.all = slice_eq_str(l.name.id, "-");
        admin_key(&prefix, l.name.instance, k->word, SLICE_EMPTY);
        l.prefix_bytes = prefix.len;
        rc = registry_each(g->own, buf_slice(&prefix), backup_visit, &l, err);
    }
    if (rc == 0)
        put_listing(&l, out);
    mem_free(l.list);
    buf_close(&l.messages);
    buf_close(&prefix);
    return rc ? rc : grpc_send(call, out, err);
}

static int backup_drop(struct gateway *g,
                       const struct backup_kind *k,
                       struct grpc_call *call,
                       struct err *err)
{
    struct buf message = BUF_INIT;
    struct backup_name b;
    int rc = backup_name_parse(k, pb_find(grpc_request(call), REQUEST_NAME), &b,
                               err);
    if (rc == 0)
        rc = backup_find(g, k, &b, &message, err);
    if (rc == 0)
        rc = quarry_snapshot_drop(g->quarry, b.store, err);
    if (rc == ERR_NOTFOUND && message.len)
        rc = 0; /* An earlier attempt dropped the snapshot alone. */
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
    struct slice backup = pb_find(request, PB_UpdateBackupRequest_backup);
    struct buf old = BUF_INIT;
    struct buf fresh = BUF_INIT;
    struct buf *out = grpc_scratch(call);
    struct backup_name b;
    int rc = backup_name_parse(&backup_kind_backup,
                               pb_find(backup, PB_Backup_name), &b, err);
    if (rc == 0)
        rc = backup_find(g, &backup_kind_backup, &b, &old, err);
    if (rc == 0)
        rc = message_merge(&backup_type, buf_slice(&old), backup,
                           pb_find(request, PB_UpdateBackupRequest_update_mask),
                           &fresh, err);
    if (rc == 0)
        rc = check_expiry(g, pb_find(buf_slice(&fresh), PB_Backup_expire_time),
                          err);
    if (rc == 0 &&
        !slice_eq(pb_find(buf_slice(&old), PB_Backup_hot_to_standard_time),
                  pb_find(buf_slice(&fresh), PB_Backup_hot_to_standard_time)))
        rc = check_hot_time(g, buf_slice(&fresh), err);
    if (rc == 0)
        rc = registry_replace(g->quarry, buf_slice(&b.key), buf_slice(&old),
                              true, buf_slice(&fresh), err);
    if (rc == 0) {
        backup_name_put(&backup_kind_backup, &b.name, out);
        put_kept(buf_slice(&fresh), service_now_us(g), out);
    }
    buf_close(&old);
    buf_close(&fresh);
    buf_close(&b.key);
    return rc ? rc : grpc_send(call, out, err);
}

/* --- tables made of backups ---------------------------------------------- */

static void
put_backup_info(struct slice backup, struct slice kept, struct buf *out)
{
    struct slice source_backup = pb_find(kept, PB_Backup_source_backup);
    pb_put_bytes(out, PB_BackupInfo_backup, backup);
    pb_put_bytes(out, PB_BackupInfo_start_time,
                 pb_find(kept, PB_Backup_start_time));
    pb_put_bytes(out, PB_BackupInfo_end_time,
                 pb_find(kept, PB_Backup_end_time));
    pb_put_bytes(out, PB_BackupInfo_source_table,
                 pb_find(kept, PB_Backup_source_table));
    if (source_backup.len)
        pb_put_bytes(out, PB_BackupInfo_source_backup, source_backup);
}

/* Append Table.restore_info, which names the backup a table was made of. */
static void
put_restore_info(struct slice backup, struct slice kept, struct buf *out)
{
    size_t opened = pb_open(out, PB_Table_restore_info);
    size_t info;
    pb_put_integer(out, PB_RestoreInfo_source_type,
                   PB_RestoreSourceType_BACKUP);
    info = pb_open(out, PB_RestoreInfo_backup_info);
    put_backup_info(backup, kept, out);
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

/* Has the instance a cluster on SSD, which all are that say nothing else? */
static void note_ssd(void *ctx, struct slice id, struct slice message)
{
    bool *ssd = ctx;
    (void)id;
    *ssd |= pb_find_integer(message, PB_Cluster_default_storage_type) !=
            PB_StorageType_HDD;
}

/* The metadata of RestoreTable. The service copies a table to SSD after it was
 * restored, in an operation of its own, whose name clients look for; here there
 * is nothing left to do, and that operation is done. */
static int put_restore_metadata(struct gateway *g,
                                struct slice instance,
                                struct slice table,
                                struct slice backup,
                                struct slice kept,
                                struct buf *out,
                                struct err *err)
{
    struct buf made = BUF_INIT;
    struct buf name = BUF_INIT;
    struct err ignored = ERR_INIT;
    bool ssd = false;
    size_t opened;
    int rc = admin_each_cluster(g, instance, note_ssd, &ssd, err);
    pb_put_bytes(out, PB_RestoreTableMetadata_name, table);
    pb_put_integer(out, PB_RestoreTableMetadata_source_type,
                   PB_RestoreSourceType_BACKUP);
    opened = pb_open(out, PB_RestoreTableMetadata_backup_info);
    put_backup_info(backup, kept, out);
    pb_close(out, opened);
    pb_put_bytes(&made, PB_OptimizeRestoredTableMetadata_name, table);
    if (rc == 0 && ssd &&
        admin_keep_operation(g, table, "OptimizeRestoredTableMetadata",
                             buf_slice(&made), &name, &ignored) == 0)
        pb_put_bytes(out, PB_RestoreTableMetadata_optimize_table_operation_name,
                     buf_slice(&name));
    buf_close(&made);
    buf_close(&name);
    return rc;
}

static int backup_restore(struct gateway *g,
                          const struct backup_kind *k,
                          struct grpc_call *call,
                          const char *metadata,
                          struct err *err)
{
    struct slice request = grpc_request(call);
    struct slice source = pb_find(request, PB_RestoreTableRequest_backup);
    char table[STORE_NAME_BYTES];
    struct resource_name name;
    struct buf message = BUF_INIT;
    struct buf kept = BUF_INIT;
    struct buf facts = BUF_INIT; /* The operation's metadata. */
    struct backup_name b = {.key = BUF_INIT};
    int rc = resource_name_parse_kind(
        pb_find(request, PB_RestoreTableRequest_parent), "", &name, err);
    name.kind = SLICE_LIT("tables");
    name.id = pb_find(request, PB_RestoreTableRequest_table_id);
    if (rc == 0)
        rc = store_name_make(g->home, name.instance, name.id, table, err);
    if (rc == 0)
        rc = backup_name_parse(k, source, &b, err);
    if (rc == 0)
        rc = backup_find(g, k, &b, &kept, err);
    if (rc == 0)
        rc = quarry_snapshot_restore(g->quarry, b.store, table, err);
    if (rc == 0)
        rc = keep_restored(g, k, &name, source, buf_slice(&kept), err);
    if (rc == 0)
        rc = table_message_put(g, &name, table, PB_Table_View_VIEW_UNSPECIFIED,
                               &message, err);
    if (rc == 0 && k == &backup_kind_backup)
        rc = put_restore_metadata(g, name.instance,
                                  pb_find(buf_slice(&message), PB_Table_name),
                                  source, buf_slice(&kept), &facts, err);
    if (rc == 0)
        rc = admin_reply_operation_with(g, call, "Table", metadata,
                                        buf_slice(&facts), buf_slice(&message),
                                        err);
    buf_close(&message);
    buf_close(&kept);
    buf_close(&facts);
    buf_close(&b.key);
    return rc;
}

/* Copy a snapshot by way of a table that is restored from it, snapshotted again
 * and dropped. All three share their files, so no data is copied. */
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
    struct slice source = pb_find(request, PB_CopyBackupRequest_source_backup);
    struct slice expires = pb_find(request, PB_CopyBackupRequest_expire_time);
    int rc = backup_name_child(
        &backup_kind_backup, pb_find(request, PB_CopyBackupRequest_parent),
        pb_find(request, PB_CopyBackupRequest_backup_id), &to, err);
    if (rc == 0)
        rc = backup_name_parse(&backup_kind_backup, source, &from, err);
    if (rc == 0)
        rc = check_expiry(g, expires, err);
    if (rc == 0)
        rc = backup_find(g, &backup_kind_backup, &from, &old, err);
    if (rc == 0) {
        struct slice schema = pb_find(buf_slice(&old), FIELD_SCHEMA);
        put_backup(g, pb_find(buf_slice(&old), PB_Backup_source_table), source,
                   expires, PB_Backup_BackupType_STANDARD, &message);
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

/* --- backups of an instance ---------------------------------------------- */

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

int admin_restore_table(void *ctx, struct grpc_call *call, struct err *err)
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

/* Tables that were dropped come back for a day: DeleteTable leaves a snapshot,
 * which shares the table's files and which the store itself drops when its time
 * is over, and an entry in the registry for what the store does not know.
 * `quarry table undelete` restores the same snapshot.
 */
#include "bigtable/gateway/admin_undelete.h"

#include <inttypes.h>

#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/resource_registry.h"
#include "bigtable/gateway/table_message.h"

/* Fields of an entry of the registry. */
enum {
    DROPPED_AT = 1, /* µs since 1970. */
    DROPPED_EXTRAS = 2,
};

static void dropped_key(const struct resource_name *name, struct buf *out)
{
    admin_key(out, name->instance, "dropped", name->id);
}

/* --- entries ------------------------------------------------------------- */

struct old_entries {
    int64_t before_us;
    struct buf keys; /* Each followed by a NUL. */
};

static int
note_old(void *ctx, struct slice key, struct slice message, struct err *err)
{
    struct old_entries *o = ctx;
    (void)err;
    if ((int64_t)pb_find_integer(message, DROPPED_AT) < o->before_us) {
        buf_append_slice(&o->keys, key);
        buf_append_byte(&o->keys, '\0');
    }
    return 0;
}

/* Entries of snapshots that have expired; what fails is tried again. */
static void forget_old(struct gateway *g, struct slice instance)
{
    struct old_entries o = {.before_us =
                                service_now_us(g) - (int64_t)UNDELETE_US};
    struct buf prefix = BUF_INIT;
    struct err ignored = ERR_INIT;
    int rc;
    admin_key(&prefix, instance, "dropped", SLICE_EMPTY);
    rc = registry_each(g->own, buf_slice(&prefix), note_old, &o, &ignored);
    for (size_t at = 0; rc == 0 && at < o.keys.len;) {
        struct slice key = slice_str(o.keys.data + at);
        rc = registry_remove(g->own, key, &ignored);
        at += key.len + 1;
    }
    buf_close(&prefix);
    buf_close(&o.keys);
}

/* --- dropping ------------------------------------------------------------ */

void admin_undelete_keep(struct gateway *g,
                         const struct resource_name *name,
                         const char *store_name)
{
    struct buf snapshot = BUF_INIT;
    struct buf message = BUF_INIT;
    struct buf extras = BUF_INIT;
    struct buf key = BUF_INIT;
    struct err ignored = ERR_INIT;
    int rc;
    forget_old(g, name->instance);
    buf_printf(&snapshot, QUARRY_DROPPED_PREFIX "%s", store_name);
    rc = quarry_snapshot_drop(g->quarry, buf_cstr(&snapshot), &ignored);
    if (rc == 0 || rc == ERR_NOTFOUND)
        rc = quarry_table_snapshot(g->quarry, store_name, buf_cstr(&snapshot),
                                   UNDELETE_US, &ignored);
    if (rc == 0)
        rc = table_schema_extras(g, name, &extras, &ignored);
    if (rc == 0) {
        pb_put_integer(&message, DROPPED_AT, service_now_us(g));
        pb_put_bytes(&message, DROPPED_EXTRAS, buf_slice(&extras));
        dropped_key(name, &key);
        /* Without an entry the table comes back without its extras. */
        rc = registry_put(g->own, buf_slice(&key), buf_slice(&message),
                          &ignored);
    }
    (void)rc;
    buf_close(&snapshot);
    buf_close(&message);
    buf_close(&extras);
    buf_close(&key);
}

/* --- coming back --------------------------------------------------------- */

static int restore_dropped(struct gateway *g,
                           const struct resource_name *name,
                           const char *store_name,
                           struct err *err)
{
    struct buf snapshot = BUF_INIT;
    struct buf message = BUF_INIT;
    struct buf key = BUF_INIT;
    struct err ignored = ERR_INIT;
    bool found = false;
    int rc;
    buf_printf(&snapshot, QUARRY_DROPPED_PREFIX "%s", store_name);
    dropped_key(name, &key);
    rc = registry_get(g->own, buf_slice(&key), &message, &found, err);
    if (rc == 0)
        rc = quarry_snapshot_restore(g->quarry, buf_cstr(&snapshot), store_name,
                                     err);
    if (rc == ERR_NOTFOUND) {
        *err = ERR_INIT;
        rc = err_set(err, ERR_NOTFOUND,
                     "no table \"%.*s\" was dropped within a day",
                     SLICE_ARG(name->id));
    }
    if (rc == 0 && found)
        rc = table_extras_put(
            g, name, pb_find(buf_slice(&message), DROPPED_EXTRAS), err);
    if (rc == 0 &&
        quarry_snapshot_drop(g->quarry, buf_cstr(&snapshot), &ignored) == 0)
        (void)!registry_remove(g->own, buf_slice(&key), &ignored);
    buf_close(&snapshot);
    buf_close(&message);
    buf_close(&key);
    return rc;
}

int admin_undelete_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice text =
        pb_find(grpc_request(call), PB_UndeleteTableRequest_name);
    struct resource_name name;
    char store_name[STORE_NAME_BYTES];
    struct buf message = BUF_INIT;
    struct buf facts = BUF_INIT;
    int64_t begun_us = service_now_us(g);
    int rc = resource_name_parse_kind(text, "tables", &name, err);
    if (rc == 0)
        rc = store_name_make(g->home, name.instance, name.id, store_name, err);
    if (rc == 0)
        rc = restore_dropped(g, &name, store_name, err);
    if (rc == 0)
        rc = table_message_put(g, &name, store_name,
                               PB_Table_View_VIEW_UNSPECIFIED, &message, err);
    pb_put_bytes(&facts, PB_UndeleteTableMetadata_name, text);
    service_put_time(&facts, PB_UndeleteTableMetadata_start_time, begun_us);
    service_put_time(&facts, PB_UndeleteTableMetadata_end_time,
                     service_now_us(g));
    if (rc == 0)
        rc = admin_reply_operation_with(
            g, call, "Table", "UndeleteTableMetadata", buf_slice(&facts),
            buf_slice(&message), err);
    buf_close(&message);
    buf_close(&facts);
    return rc;
}

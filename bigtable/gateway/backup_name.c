/* Names of backups and of snapshots. All three names hold the instance, the
 * cluster and the id; the store's has dots between them, which ids do not.
 */
#include "bigtable/gateway/backup_name.h"

#include <string.h>

#include "base/core/pb.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"

#define ID_BYTES_MAX 50

const struct backup_kind backup_kind_backup = {
    "backups", "backup", 'b', PB_Backup_size_bytes, PB_Backup_expire_time};
const struct backup_kind backup_kind_snapshot = {"snapshots", "snapshot", 's',
                                                 PB_Snapshot_data_size_bytes,
                                                 PB_Snapshot_delete_time};

static int
check_id(const struct backup_kind *k, struct slice id, struct err *err)
{
    int rc = table_id_check(id, NULL);
    if (rc == 0 && id.len <= ID_BYTES_MAX)
        return 0;
    return err_set(err, ERR_INVALID, "\"%.*s\" cannot be the id of a %s",
                   SLICE_ARG(slice_sub(id, 0, 200)), k->what);
}

int backup_name_fill(const struct backup_kind *k,
                     struct backup_name *b,
                     struct err *err)
{
    const struct resource_name *n = &b->name;
    struct buf id = BUF_INIT;
    int rc = instance_id_check(n->id, err);
    if (rc == 0)
        rc = check_id(k, n->sub_id, err);
    if (rc)
        return rc;
    buf_printf(&id, "%.*s/%.*s", SLICE_ARG(n->id), SLICE_ARG(n->sub_id));
    admin_key(&b->key, n->instance, k->word, buf_slice(&id));
    buf_clear(&id);
    buf_printf(&id, "%c.%.*s.%.*s.%.*s", k->prefix, SLICE_ARG(n->instance),
               SLICE_ARG(n->id), SLICE_ARG(n->sub_id));
    if (id.len < sizeof(b->store))
        memcpy(b->store, buf_cstr(&id), id.len + 1);
    else
        rc = err_set(err, ERR_INVALID, "the names are too long together");
    buf_close(&id);
    return rc;
}

int backup_name_child(const struct backup_kind *k,
                      struct slice parent,
                      struct slice id,
                      struct backup_name *b,
                      struct err *err)
{
    int rc = resource_name_parse_kind(parent, "clusters", &b->name, err);
    b->key = BUF_INIT;
    b->name.sub_kind = slice_str(k->word);
    b->name.sub_id = id;
    return rc ? rc : backup_name_fill(k, b, err);
}

int backup_name_parse(const struct backup_kind *k,
                      struct slice text,
                      struct backup_name *b,
                      struct err *err)
{
    int rc = resource_name_parse(text, &b->name, err);
    b->key = BUF_INIT;
    if (rc == 0 && (!slice_eq_str(b->name.kind, "clusters") ||
                    !slice_eq_str(b->name.sub_kind, k->word)))
        rc = err_set(err, ERR_INVALID, "\"%.*s\" is not the name of a %s",
                     SLICE_ARG(slice_sub(text, 0, 200)), k->what);
    return rc ? rc : backup_name_fill(k, b, err);
}

void backup_name_put(const struct backup_kind *k,
                     const struct resource_name *n,
                     struct buf *out)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "projects/%.*s/instances/%.*s/clusters/%.*s/%s/%.*s",
               SLICE_ARG(n->project), SLICE_ARG(n->instance), SLICE_ARG(n->id),
               k->word, SLICE_ARG(n->sub_id));
    pb_put_bytes(out, PB_Backup_name, buf_slice(&text)); /* As Snapshot's. */
    buf_close(&text);
}

int backup_not_found(const struct backup_kind *k,
                     const struct backup_name *b,
                     struct err *err)
{
    return err_set(err, ERR_NOTFOUND, "%s not found: %.*s", k->what,
                   SLICE_ARG(b->name.sub_id));
}

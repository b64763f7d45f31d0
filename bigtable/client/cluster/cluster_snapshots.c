/* Snapshots of a cluster's tables. Its master keeps them; these are its calls.
 */
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/snapshot_calls.h"

static int cluster_snapshots_call(struct quarry *q,
                                  enum snapshot_method method,
                                  const struct snapshot_order *o,
                                  struct buf *reply,
                                  bool *unsure,
                                  struct err *err)
{
    struct buf body = BUF_INIT;
    int rc;
    snapshot_order_put(o, &body);
    rc =
        cluster_call_master(q->cluster, method, buf_slice(&body),
                            reply ? 0 : CLUSTER_NO_TIMEOUT, reply, unsure, err);
    buf_close(&body);
    return rc;
}

/* After a lost answer, what was to be made may be there already: by us, as far
 * as anybody can tell. */
static int cluster_snapshots_make(struct quarry *q,
                                  enum snapshot_method method,
                                  const struct snapshot_order *o,
                                  struct err *err)
{
    bool unsure = false;
    int rc = cluster_snapshots_call(q, method, o, NULL, &unsure, err);
    return rc == ERR_EXISTS && unsure ? 0 : rc;
}

int cluster_table_snapshot(struct quarry *q,
                           const char *table,
                           const char *name,
                           uint64_t ttl_us,
                           struct err *err)
{
    const struct snapshot_order o = {slice_str(name), slice_str(table), ttl_us};
    int rc = snapshot_check_name(o.name, err);
    return rc ? rc : cluster_snapshots_make(q, MASTER_SNAPSHOT, &o, err);
}

int cluster_table_clone(struct quarry *q,
                        const char *table,
                        const char *to,
                        struct err *err)
{
    const struct snapshot_order o = {slice_str(table), slice_str(to), 0};
    int rc = schema_check_table_name(o.table, err);
    return rc ? rc : cluster_snapshots_make(q, MASTER_CLONE, &o, err);
}

int cluster_snapshot_list(struct quarry *q, struct buf *out, struct err *err)
{
    const struct snapshot_order o = {SLICE_EMPTY, SLICE_EMPTY, 0};
    return cluster_snapshots_call(q, MASTER_SNAPSHOT_LIST, &o, out, NULL, err);
}

int cluster_snapshot_show(struct quarry *q,
                          const char *name,
                          struct buf *out,
                          struct err *err)
{
    const struct snapshot_order o = {slice_str(name), SLICE_EMPTY, 0};
    return cluster_snapshots_call(q, MASTER_SNAPSHOT_SHOW, &o, out, NULL, err);
}

int cluster_snapshot_drop(struct quarry *q, const char *name, struct err *err)
{
    const struct snapshot_order o = {slice_str(name), SLICE_EMPTY, 0};
    bool unsure = false;
    int rc =
        cluster_snapshots_call(q, MASTER_SNAPSHOT_DROP, &o, NULL, &unsure, err);
    return rc == ERR_NOTFOUND && unsure ? 0 : rc;
}

int cluster_snapshot_restore(struct quarry *q,
                             const char *name,
                             const char *table,
                             struct err *err)
{
    const struct snapshot_order o = {slice_str(name), slice_str(table), 0};
    int rc = schema_check_table_name(o.table, err);
    return rc ? rc
              : cluster_snapshots_make(q, MASTER_SNAPSHOT_RESTORE, &o, err);
}
